// The theme: the default one without its fonts, and the studio.
import DefaultTheme from "vitepress/theme-without-fonts";
import LiveStudio from "./LiveStudio.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component("LiveStudio", LiveStudio);
  },
};
