import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { POD_STATES, type PodState, STATE_WORDS } from '../state/pod-state.ts';

export interface LegendProps {
  readonly counts: ReadonlyMap<PodState, number>;
  readonly shown: Signal<PodState | undefined>;
}

/** The states with their numbers; one that is pressed stands out among the tiles. */
export function Legend({ counts, shown }: LegendProps): VNode {
  return (
    <div class="legend" role="group" aria-label="States of pods; press one to see only these">
      {POD_STATES.filter((state) => (counts.get(state) ?? 0) > 0 || state === 'running').map((state) => (
        <button
          key={state}
          type="button"
          aria-pressed={shown.value === state}
          onClick={() => {
            shown.value = shown.value === state ? undefined : state;
          }}
        >
          <span class={`tile ${state}`} aria-hidden="true" />
          <strong>{(counts.get(state) ?? 0).toLocaleString('en')}</strong> {STATE_WORDS[state]}
        </button>
      ))}
    </div>
  );
}
