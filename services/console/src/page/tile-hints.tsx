import type { ComponentChildren, VNode } from 'preact';
import { useRef } from 'preact/hooks';

/** One hint for all tiles: it follows the pointer and the focus without drawing anything else again. */
export function TileHints({ children }: { readonly children: ComponentChildren }): VNode {
  const hint = useRef<HTMLDivElement>(null);
  const show = (event: Event): void => {
    const tile = event.target instanceof HTMLElement && event.target.closest<HTMLElement>('a.tile');
    if (hint.current === null) return;
    if (tile === false || tile === null) hide(hint.current);
    else place(hint.current, tile);
  };
  return (
    <div
      class="cards"
      onPointerOver={show}
      onFocusIn={show}
      onPointerLeave={() => hint.current !== null && hide(hint.current)}
      onFocusOut={() => hint.current !== null && hide(hint.current)}
    >
      {children}
      <div class="hint" ref={hint} hidden aria-hidden="true" />
    </div>
  );
}

const hide = (hint: HTMLElement): void => {
  hint.hidden = true;
};

const GAP = 8;

function place(hint: HTMLElement, tile: HTMLElement): void {
  const name = document.createElement('strong');
  name.textContent = tile.dataset['name'] ?? '';
  hint.replaceChildren(name, tile.dataset['about'] ?? '');
  hint.hidden = false;
  const at = tile.getBoundingClientRect();
  const left = Math.min(at.left, innerWidth - hint.offsetWidth - GAP);
  const below = at.bottom + GAP;
  const top = below + hint.offsetHeight > innerHeight ? at.top - hint.offsetHeight - GAP : below;
  hint.style.left = `${Math.max(GAP, left)}px`;
  hint.style.top = `${top}px`;
}
