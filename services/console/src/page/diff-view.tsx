import type { VNode } from 'preact';
import type { DiffLine } from '../state/line-diff.ts';
import { drawnLines } from '../state/yaml-text.ts';

const MARKS: Readonly<Record<DiffLine['kind'], string>> = { same: ' ', removed: '-', added: '+', gap: ' ' };

export function DiffView({ lines: all }: { readonly lines: readonly DiffLine[] }): VNode {
  const { lines, left } = drawnLines(all);
  if (lines.length === 0) return <p class="empty">Nothing would change.</p>;
  return (
    <pre class="code diff" tabIndex={0} role="region" aria-label="What would change">
      {left !== '' && <span class="line gap">{`${left}\n`}</span>}
      {lines.map(({ kind, text }, index) => (
        <span key={index} class={`line ${kind}`}>
          {kind === 'gap' ? '...' : `${MARKS[kind]} ${text}`}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
