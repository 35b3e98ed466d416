import { options, render } from "preact";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/composer.css";
import "./styles/talk.css";
import "./styles/card.css";
import "./styles/code.css";
import "./styles/report.css";
import { App } from "./ui/App";

// Events are applied on arrival, painting follows the screen: a burst of tokens costs one paint.
options.debounceRendering = requestAnimationFrame;

const root = document.getElementById("app");
if (root === null) throw new Error("The page has no #app.");
render(<App />, root);
