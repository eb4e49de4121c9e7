import type { VNode } from 'preact';

/** The mark of Holdfast: a ring that holds. */
export const Mark = (): VNode => (
  <svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true">
    <path
      d="M12 2 20.5 7v10L12 22 3.5 17V7Z"
      fill="none"
      stroke="currentColor"
      stroke-width="1.8"
      stroke-linejoin="round"
    />
    <circle cx="12" cy="12" r="3.6" fill="currentColor" />
    <path d="M12 2v6.4M12 15.6V22" stroke="currentColor" stroke-width="1.8" />
  </svg>
);

export const MenuGlyph = (): VNode => (
  <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
    <path d="M3 5h14M3 10h14M3 15h14" stroke="currentColor" stroke-width="1.6" stroke-linecap="round" />
  </svg>
);
