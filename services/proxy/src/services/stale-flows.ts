import type { StaleFlows } from '../filter/port.ts';
import type { Fragment } from '../ruleset/fragment.ts';
import type { Family } from '../ruleset/model.ts';

/**
 * UDP has no end, so a flow would keep a target that is gone for as long as its client sends. A flow that began while
 * there was no target would stay without one.
 */
export function staleFlows(
  family: Family,
  { before, after }: { readonly before: Fragment | undefined; readonly after: Fragment | undefined },
): readonly StaleFlows[] {
  const stale: StaleFlows[] = [];
  const ids = new Set([...(before?.udpTargets.keys() ?? []), ...(after?.udpTargets.keys() ?? [])]);
  for (const id of ids) {
    const old = before?.udpTargets.get(id);
    const next = after?.udpTargets.get(id);
    const { address, port } = next ?? old ?? { address: undefined, port: 0 };
    const kept = new Set(next?.targets);
    const ended = (old?.targets ?? []).filter((target) => !kept.has(target));
    for (const target of ended) stale.push({ protocol: 'UDP', family, address, port, target });
    if (kept.size > 0 && (old?.targets ?? []).length === 0) stale.push({ protocol: 'UDP', family, address, port });
  }
  return stale;
}
