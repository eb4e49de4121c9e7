import {
  isPodFinished,
  isTerminating,
  NAMESPACES,
  type Namespace,
  NETWORK_POLICIES,
  type NetworkPolicy,
  PODS,
  POLICY_DIRECTIONS,
  type Pod,
  peerSelects,
  policyCovers,
  policyRules,
  policySelects,
} from '@holdfast/api';
import { createInformer, type Informer, type InformerChange, keyOf } from '@holdfast/client';
import { deepEqual } from '@holdfast/machinery';
import type { ProxyDeps } from '../proxy-deps.ts';
import type { Fragment } from '../ruleset/fragment.ts';
import type { Family } from '../ruleset/model.ts';
import { podFragment } from './pod-fragment.ts';
import { policyFragment } from './policy-fragment.ts';
import { asksPortsOfAll, PolicyIndex } from './policy-index.ts';
import { isPodUnit, isPolicyUnit, podUnit, policyUnit, targetOf } from './policy-names.ts';
import { relayedPod } from './relayed-pod.ts';
import { type StartingPod, StartingPods } from './starting-pods.ts';

export interface NetworkPoliciesOptions
  extends Pick<ProxyDeps, 'client' | 'bus' | 'clock' | 'random' | 'log' | 'nodeName' | 'isForAllNodes' | 'relayed'> {
  touch(units: readonly string[]): void;
  /** Resolves when the kernel has the rules of everything that was touched before. */
  written(): Promise<void>;
}

/**
 * The policies of all namespaces. Pods and namespaces are read from the first policy on: a cluster without policies
 * pays for one empty list.
 */
export class NetworkPolicies {
  readonly #options: NetworkPoliciesOptions;
  readonly #policies: Informer<NetworkPolicy>;
  readonly #pods: Informer<Pod>;
  readonly #namespaces: Informer<Namespace>;
  /** By their keys. */
  readonly #relayed: ReadonlyMap<string, Pod>;
  readonly #index = new PolicyIndex();
  readonly #unsubscribe: (() => void)[] = [];
  readonly #starting = new StartingPods();
  /** Pods that this process has not read yet, by the id of their address. */
  readonly #awaited = new Map<string, () => void>();
  readonly #listed = Promise.withResolvers<void>();
  #opening: Promise<void> | undefined;
  /** Pods and namespaces are complete. Before that, policies would keep out peers that they allow. */
  #isOpen = false;

  constructor(options: NetworkPoliciesOptions) {
    this.#options = options;
    const { client, bus, clock, random, log, relayed = [] } = options;
    this.#relayed = new Map(relayed.flatMap(relayedPod).map((pod) => [keyOf(pod), pod]));
    const tools = { client, bus, clock, random, log };
    this.#policies = createInformer({ ...tools, resource: NETWORK_POLICIES });
    this.#pods = createInformer({ ...tools, resource: PODS });
    this.#namespaces = createInformer({ ...tools, resource: NAMESPACES });
  }

  async start(): Promise<void> {
    this.#unsubscribe.push(
      this.#policies.onChange((change) => this.#policyChanged(change)),
      this.#pods.onChange(({ key, object, old }) => {
        for (const look of this.#awaited.values()) look();
        if (this.#isOpen && !isSameForPolicies(object, old)) this.#options.touch([podUnit(key)]);
      }),
      this.#namespaces.onChange(({ key, object, old }) => {
        if (!this.#isOpen || deepEqual(object?.metadata.labels, old?.metadata.labels)) return;
        this.#options.touch(this.#podsIn(key).map(unitOf));
      }),
    );
    await this.#policies.start();
    await this.#policies.synced();
    await this.#opening;
    this.#listed.resolve();
  }

  /**
   * Resolves when the policies bind the pod at this address. The node waits for it before the first process of the pod
   * runs, so no packet of the pod passes unseen. Without policies it waits for nothing.
   */
  async admit(pod: StartingPod): Promise<void> {
    this.#starting.add(pod);
    await this.#listed.promise;
    await this.#opening;
    if (!this.#isOpen) return;
    await this.#isRead(pod);
    this.#options.touch([podUnit(`${pod.namespace}/${pod.name}`)]);
    await this.#options.written();
  }

  /** Nothing has this address any more. */
  leave(id: string): void {
    this.#awaited.delete(id);
    const pod = this.#starting.remove(id);
    if (pod !== undefined && this.#isOpen) this.#options.touch([podUnit(`${pod.namespace}/${pod.name}`)]);
  }

  #isRead({ id, uid, ...target }: StartingPod): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (this.#pods.get(target)?.metadata.uid !== uid) return;
      this.#awaited.delete(id);
      resolve();
    };
    this.#awaited.set(id, look);
    look();
    return promise;
  }

  async stop(): Promise<void> {
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await Promise.all([this.#policies, this.#pods, this.#namespaces].map((informer) => informer.stop()));
    await this.#opening;
  }

  units(): readonly string[] {
    if (!this.#isOpen) return [];
    return [...this.#policies.list().map((policy) => policyUnit(keyOf(policy))), ...this.#podsIn().map(unitOf)];
  }

  /** True for the units that `fragmentOf` knows. */
  has(unit: string): boolean {
    return isPolicyUnit(unit) || isPodUnit(unit);
  }

  fragmentOf(unit: string, family: Family): Fragment | undefined {
    const target = targetOf(unit);
    if (isPolicyUnit(unit)) {
      const policy = this.#policies.get(target);
      return policy === undefined ? undefined : policyFragment(policy, family);
    }
    const pod = this.#pods.get(target) ?? this.#relayed.get(`${target.namespace}/${target.name}`);
    if (pod === undefined) return undefined;
    const { nodeName, isForAllNodes } = this.#options;
    return podFragment(
      {
        pod: this.#starting.placed(pod),
        namespace: this.#namespaceOf(pod),
        policies: this.#index.candidates(pod),
        isLocal: isForAllNodes === true || pod.spec.nodeName === nodeName,
      },
      family,
    );
  }

  /** Of one namespace, or all. */
  #podsIn(namespace?: string): readonly Pod[] {
    const relayed = [...this.#relayed.values()].filter(
      ({ metadata }) => (namespace ?? metadata.namespace) === metadata.namespace,
    );
    return [...this.#pods.list(namespace), ...relayed];
  }

  #namespaceOf({ metadata }: Pod): Namespace | undefined {
    return this.#namespaces.get({ name: metadata.namespace ?? '' });
  }

  #policyChanged({ key, object, old }: InformerChange<NetworkPolicy>): void {
    this.#index.put(key, object);
    if (this.#isOpen) {
      const concerned = [object, old].flatMap((policy) => (policy === undefined ? [] : this.#podsOf(policy)));
      this.#options.touch([policyUnit(key), ...concerned.map(unitOf)]);
    } else if (object !== undefined) this.#opening ??= this.#open();
  }

  async #open(): Promise<void> {
    const informers = [this.#pods, this.#namespaces];
    try {
      await Promise.all(informers.map((informer) => informer.start()));
      await Promise.all(informers.map((informer) => informer.synced()));
      this.#isOpen = true;
      this.#options.touch(this.units());
    } catch {
      // Only a stop ends an informer that is not complete yet.
    }
  }

  /** The pods whose rules follow from the policy. */
  #podsOf(policy: NetworkPolicy): readonly Pod[] {
    const rules = POLICY_DIRECTIONS.filter((direction) => policyCovers(policy, direction)).flatMap((direction) =>
      policyRules(policy, direction).map((rule) => ({ rule, isOfAll: direction === 'egress' && asksPortsOfAll(rule) })),
    );
    const peers = rules.flatMap(({ rule }) => rule.peers);
    const isOfAll = rules.some((each) => each.isOfAll);
    const { namespace } = policy.metadata;
    const isWide = isOfAll || peers.some(({ namespaceSelector }) => namespaceSelector !== undefined);
    return this.#podsIn(isWide ? undefined : namespace).filter((pod) => {
      if (isOfAll || policySelects(policy, pod)) return true;
      const seen = { metadata: pod.metadata, namespace: this.#namespaceOf(pod) };
      return peers.some((peer) => peerSelects(peer, namespace, seen));
    });
  }
}

const unitOf = (pod: Pod): string => podUnit(keyOf(pod));

/** Most changes of pods are of their status, and no policy reads them. */
function isSameForPolicies(a: Pod | undefined, b: Pod | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return (
    a.metadata.uid === b.metadata.uid &&
    a.spec.nodeName === b.spec.nodeName &&
    isPodFinished(a) === isPodFinished(b) &&
    isTerminating(a) === isTerminating(b) &&
    deepEqual(a.metadata.labels, b.metadata.labels) &&
    deepEqual(a.status?.podIPs, b.status?.podIPs)
  );
}
