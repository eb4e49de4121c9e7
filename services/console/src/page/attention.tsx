import type { VNode } from 'preact';
import type { Pod, PodState } from '../state/pod-state.ts';
import { STATE_WORDS } from '../state/pod-state.ts';
import { objectHash, PODS } from '../state/routes.ts';

export interface AttentionProps {
  readonly pods: readonly Pod[];
  readonly counts: ReadonlyMap<PodState, number>;
}

/** Pods that are not as somebody wants them. */
export function Attention({ pods }: AttentionProps): VNode {
  return (
    <section class="card attention" aria-labelledby="attention-title">
      <h2 id="attention-title">Attention</h2>
      {pods.length === 0 ? (
        <p class="empty">All pods are as they should be.</p>
      ) : (
        <ul>
          {pods.map((pod) => (
            <li key={pod.key}>
              <span class={`tile ${pod.state}`} aria-hidden="true" />
              <a href={objectHash(PODS, pod.namespace, pod.name)}>{pod.name}</a>
              <span class="muted">
                {pod.status === 'Running' || pod.status === '' ? STATE_WORDS[pod.state] : pod.status}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
