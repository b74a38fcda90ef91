// What Streamlit leaves out for people without a mouse or without sight: the button of a phone's menu is called what it
// says, the menu is no list, since headings stand between its items, and a table or code that is wider than its place
// can be reached and scrolled by keyboard.

(() => {
  if (window.austerityAccess) return;
  window.austerityAccess = true;
  const menu = "[data-testid=stSidebarNavItems]";
  const repair = () => {
    document.querySelector("[data-testid=stExpandSidebarButton]")?.setAttribute("aria-label", "Menu");
    document.querySelectorAll(`${menu}, ${menu} li`).forEach((item) => item.setAttribute("role", "none"));
    document.querySelectorAll("[data-testid=stTable] :has(> table), .stMarkdown table, pre").forEach((wide) => {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
      else wide.removeAttribute("tabindex");
    });
  };
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; repair(); }, 100);
  };
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
  window.addEventListener("resize", soon);
  soon();
})();

