import { isWait, type Wait } from '@holdfast/client/why';
import type { VNode } from 'preact';
import type { Kind } from '../state/kinds.ts';
import { ageOf } from '../state/times.ts';
import { readWhy } from '../state/why.ts';
import { useShell } from './shell.tsx';
import { type Followed, useFollowed } from './use-followed.tsx';

export interface WhyProps {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** Grows when the object changes. */
  readonly tick: number;
}

/** A wait may end by what the object itself does not show. */
const AGAIN_MS = 5_000;

/** What the object waits for and what ends it; nothing for one that waits for nothing. */
export function WhyCard(props: WhyProps): VNode | null {
  const shell = useShell();
  const { found: wait } = useWait(props);
  if (wait === undefined || wait === 'nothing') return null;
  const since = wait.since === undefined ? '' : ` It has waited for ${ageOf(wait.since, shell.shownTime)}.`;
  return (
    <section class="why-card" aria-label="What it waits for">
      <p>
        <strong>Waits:</strong> {wait.waitsFor}.
      </p>
      <p class="muted">
        The wait ends when {wait.endsWhen}.{since}
      </p>
    </section>
  );
}

function useWait({ kind, namespace, name, tick }: WhyProps): Followed<Wait | 'nothing'> {
  const { api, at, shownTime: now } = useShell();
  return useFollowed({
    key: `${kind.plural}/${namespace}/${name}/${tick}`,
    read: async () => {
      const finding = await readWhy(api, { kind, namespace, name, now, at: at.value });
      return finding !== undefined && isWait(finding) ? finding : 'nothing';
    },
    again: (found) => (found === 'nothing' ? undefined : AGAIN_MS),
  });
}
