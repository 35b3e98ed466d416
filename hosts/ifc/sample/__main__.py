"""`python -m hosts.ifc.sample OUT.ifc`"""

import argparse

from hosts.ifc.sample import build_sample

parser = argparse.ArgumentParser(prog="python -m hosts.ifc.sample", description="Write the sample building.")
parser.add_argument("path", metavar="OUT.ifc")
build_sample(parser.parse_args().path)
