// complaints.js - served before the page's own scripts where the browser's driver does not report the console (WebKit)
(() => {
  const complaints = (window.complaints = []);
  for (const kind of ['error', 'warn']) {
    const original = console[kind].bind(console);
    console[kind] = (...args) => {
      complaints.push(args.map(String).join(' '));
      original(...args);
    };
  }
  addEventListener(
    'error',
    (event) => {
      complaints.push(
        event.target === window
          ? (event.error?.stack ?? event.message)
          : `${event.target.src ?? event.target.href} was not loaded`,
      );
    },
    true,
  );
  addEventListener('unhandledrejection', ({ reason }) => {
    complaints.push(`unhandled: ${reason?.stack ?? reason}`);
  });
  addEventListener('securitypolicyviolation', (event) => {
    complaints.push(`${event.violatedDirective} forbids ${event.blockedURI}`);
  });
})();
