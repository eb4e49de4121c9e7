import type { ComponentChildren, VNode } from 'preact';

export const Card = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }): VNode => (
  <section class="card" aria-label={title}>
    <h2>{title}</h2>
    {children}
  </section>
);
