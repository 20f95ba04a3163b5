// A dialog over the page. The browser keeps the focus inside. Escape closes it.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./ui.js";

interface DialogProps {
  title: string;
  testId: string;
  kind?: string;
  close: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, testId, kind = "", close, children }: DialogProps) {
  const own = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement;
    own.current!.showModal();
    // Otherwise the browser would focus the close button.
    own.current!.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={own}
      class={kind}
      tabIndex={-1}
      aria-label={title}
      data-testid={testId}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => {
        // The target of a click on the backdrop is the dialog element itself.
        if (event.target === own.current) close();
      }}
    >
      <div class="stack grow">
        <header class="part row">
          <h2 class="grow">{title}</h2>
          <Button kind="quiet" icon="close" name="Close" onClick={close} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
