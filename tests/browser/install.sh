#!/bin/sh
# A browser for the page's tests, where this machine lets us install one; elsewhere those tests are skipped, visibly.
set -e
command -v chromium >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
else
    echo "Chromium is not installed: the page's tests in a browser will be skipped."
fi
