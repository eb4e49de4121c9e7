import type { VNode } from 'preact';
import type { DiffLine } from '../state/line-diff.ts';

const MARKS: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', removed: '-', added: '+', gap: ' ' };

export function DiffView({ lines }: { readonly lines: readonly DiffLine[] }): VNode {
  if (lines.length === 0) return <p class="empty">Nothing would change.</p>;
  return (
    <pre class="code diff" tabIndex={0} role="region" aria-label="What would change">
      {lines.map(({ kind, text }, index) => (
        <span key={index} class={`line ${kind}`}>
          {kind === 'gap' ? '...' : `${MARKS[kind]} ${text}`}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
