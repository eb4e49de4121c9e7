import { canonicalIp, type Service, type TrafficTarget } from '@holdfast/api';
import { AFFINITY_SECONDS_DEFAULT } from '../limits.ts';
import type { FragmentBuilder } from '../ruleset/fragment.ts';
import { type Protocol, type Rule, rule, verdict } from '../ruleset/model.ts';

/** How long a client stays with its target. `undefined`: clients do not stay. */
export const affinitySecondsOf = ({ spec }: Pick<Service, 'spec'>): number | undefined =>
  spec.sessionAffinity === 'ClientIP'
    ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? AFFINITY_SECONDS_DEFAULT)
    : undefined;

export interface AffinityOptions {
  readonly chain: string;
  readonly id: string;
  readonly protocol: Protocol;
  readonly seconds: number;
  readonly targets: readonly TrafficTarget[];
}

/** Each target has a set of its clients. A client in one of the sets goes there; any other is given a random target. */
export function addAffinity(
  builder: FragmentBuilder,
  { chain, id, protocol, seconds, targets }: AffinityOptions,
): void {
  const returning: Rule[] = [];
  const chains: string[] = [];
  for (const { address, port } of targets) {
    const ip = canonicalIp(address) ?? '';
    const target = `${id}/${ip.replaceAll(':', '.')}-${port}`;
    // The time-out is a part of the name, because a set cannot change it.
    const set = `for${seconds}/${target}`;
    builder.sets.set(set, { kind: 'clients', timeoutSeconds: seconds });
    builder.chains.set(`to/${target}`, {
      rules: [rule({ kind: 'remember', set }), rule({ kind: 'translate', protocol, address: ip, port })],
    });
    returning.push(verdict(`goto to/${target}`, { kind: 'address', side: 'saddr', set }));
    chains.push(`to/${target}`);
  }
  builder.chains.set(chain, { rules: [...returning, rule({ kind: 'choose', chains })] });
}
