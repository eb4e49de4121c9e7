import {
  type NetworkPolicy,
  type NetworkPolicyRule,
  POLICY_DIRECTIONS,
  type Pod,
  policyRules,
  selectorOf,
} from '@holdfast/api';

/** Any namespace, or any labels. */
const ANY = '';

/**
 * Finds the policies that may select a pod, as their subject or as a peer, by one pair that the selector demands. It may
 * return more than match, never fewer.
 */
export class PolicyIndex {
  readonly #policies = new Map<string, NetworkPolicy>();
  readonly #buckets = new Map<string, Set<string>>();

  get size(): number {
    return this.#policies.size;
  }

  /** `undefined` removes the policy. */
  put(key: string, policy: NetworkPolicy | undefined): void {
    const old = this.#policies.get(key);
    for (const bucket of old === undefined ? [] : bucketsOf(old)) this.#removeFrom(bucket, key);
    if (policy === undefined) this.#policies.delete(key);
    else this.#policies.set(key, policy);
    for (const bucket of policy === undefined ? [] : bucketsOf(policy)) this.#addTo(bucket, key);
  }

  /** In the order of their keys. */
  candidates({ metadata }: Pick<Pod, 'metadata'>): readonly NetworkPolicy[] {
    const pairs = [ANY, ...Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`)];
    const keys = new Set<string>();
    for (const namespace of [ANY, metadata.namespace ?? '']) {
      for (const pair of pairs) for (const key of this.#buckets.get(bucketOf(namespace, pair)) ?? []) keys.add(key);
    }
    return [...keys].toSorted().flatMap((key) => this.#policies.get(key) ?? []);
  }

  #addTo(bucket: string, key: string): void {
    const keys = this.#buckets.get(bucket) ?? new Set<string>();
    this.#buckets.set(bucket, keys.add(key));
  }

  #removeFrom(bucket: string, key: string): void {
    const keys = this.#buckets.get(bucket);
    keys?.delete(key);
    if (keys?.size === 0) this.#buckets.delete(bucket);
  }
}

/** Addresses of blocks, and those of a rule without peers, may be those of any pod, whose ports have names of its own. */
export const asksPortsOfAll = ({ peers, ports }: NetworkPolicyRule): boolean =>
  ports.some(({ port }) => typeof port === 'string') &&
  (peers.length === 0 || peers.some(({ ipBlock }) => ipBlock !== undefined));

const bucketOf = (namespace: string, pair: string): string => `${namespace} ${pair}`;

function bucketsOf(policy: NetworkPolicy): readonly string[] {
  const { namespace = '' } = policy.metadata;
  const buckets = [bucketOf(namespace, pairOf(policy.spec.podSelector ?? {}))];
  for (const direction of POLICY_DIRECTIONS) {
    for (const { peers, ports } of policyRules(policy, direction)) {
      if (direction === 'egress' && asksPortsOfAll({ peers, ports })) buckets.push(bucketOf(ANY, ANY));
      for (const { ipBlock, namespaceSelector, podSelector } of peers) {
        if (ipBlock !== undefined) continue;
        const where = namespaceSelector === undefined ? namespace : ANY;
        buckets.push(bucketOf(where, podSelector === undefined ? ANY : pairOf(podSelector)));
      }
    }
  }
  return buckets;
}

function pairOf(selector: NonNullable<NetworkPolicy['spec']['podSelector']>): string {
  const [pair] = selectorOf(selector).exactPairs;
  return pair === undefined ? ANY : `${pair[0]}=${pair[1]}`;
}
