import { NODES, type Node, ZONE_LABEL } from '@holdfast/api';
import { createEventRecorder, createInformer, type Informer, type RunningEventRecorder } from '@holdfast/client';
import type { Service } from '@holdfast/platform';
import { healthPortOf } from './health/local-endpoints.ts';
import type { HealthPort } from './health/port.ts';
import { type HealthView, isEligible } from './health/proxy-health.ts';
import { createProxyMetrics, type ProxyMetrics } from './metrics.ts';
import { NetworkPolicies } from './policies/network-policies.ts';
import type { StartingPod } from './policies/starting-pods.ts';
import type { ProxyDeps } from './proxy-deps.ts';
import { BASE_UNIT, baseFragment } from './ruleset/base.ts';
import type { Fragment } from './ruleset/fragment.ts';
import type { Family } from './ruleset/model.ts';
import { ServiceViews, serviceOfSlice } from './service-views.ts';
import { serviceFragment } from './services/service-fragment.ts';
import { RuleSync } from './sync.ts';

export interface Proxy extends Service {
  /** In Prometheus text format. */
  metrics(): string;
  /** True while the kernel has the rules. */
  isReady(): boolean;
  /** For the health checks of this process. */
  health(): HealthView;
  /** Removes every rule. */
  removeRules(): Promise<void>;
  /** Resolves when network policies bind the pod. Its processes start after that. */
  admitPod(pod: StartingPod): Promise<void>;
  /** Why the rules could not be written last; absent when they were. */
  failure(): string | undefined;
  /** Nothing has this address any more. */
  podLeft(id: string): void;
  /** Writes every rule again: the network namespace is a new one. */
  rewrite(): void;
}

/** `source.component` of its events. */
const COMPONENT = 'kube-proxy';
const SERVICE_UNIT = 'service ';

/** Routes the addresses of Services to their endpoints, and enforces network policies, in one network namespace. */
export function createProxy(deps: ProxyDeps): Proxy {
  return new RunningProxy(deps);
}

class RunningProxy implements Proxy {
  readonly name = 'proxy';
  readonly #deps: ProxyDeps;
  readonly #views: ServiceViews;
  readonly #nodes: Informer<Node>;
  readonly #metrics: ProxyMetrics = createProxyMetrics();
  readonly #policies: NetworkPolicies | undefined;
  readonly #events: RunningEventRecorder;
  readonly #sync: RuleSync;
  readonly #unsubscribe: (() => void)[] = [];
  /** By service. */
  readonly #healthPorts = new Map<string, HealthPort>();
  readonly #healthChanged = new Set<string>();
  #ready = false;

  constructor(deps: ProxyDeps) {
    this.#deps = deps;
    const { client, bus, clock, random, ids, log, nodeName, filter, flows } = deps;
    const tools = { client, bus, clock, random, log };
    this.#views = new ServiceViews(deps);
    this.#nodes = createInformer({
      ...tools,
      resource: NODES,
      selection: { fieldSelector: `metadata.name=${nodeName}` },
    });
    this.#events = createEventRecorder({ client, component: COMPONENT, host: nodeName, clock, ids, log });
    if (deps.options.networkPolicies) {
      this.#policies = new NetworkPolicies({
        ...deps,
        touch: (units) => this.#sync.touch(units),
        written: () => this.#sync.written(),
      });
    }
    const fragmentOf = (unit: string, family: Family) => this.#fragmentOf(unit, family);
    const onFailure = (reason: string) => this.#reportFailure(reason);
    const onSynced = () => this.#serveHealthPorts();
    this.#sync = new RuleSync({ filter, flows, clock, log, metrics: this.#metrics, fragmentOf, onFailure, onSynced });
  }

  metrics(): string {
    return this.#metrics.render();
  }

  isReady(): boolean {
    return this.#ready && !this.#sync.isFailing();
  }

  health(): HealthView {
    const node = this.#nodes.get({ name: this.#deps.nodeName });
    return { progress: this.#sync.progress(), isNodeEligible: isEligible(node) };
  }

  removeRules(): Promise<void> {
    return this.#deps.filter.remove();
  }

  async admitPod(pod: StartingPod): Promise<void> {
    await this.#policies?.admit(pod);
  }

  podLeft(id: string): void {
    this.#policies?.leave(id);
  }

  failure(): string | undefined {
    return this.#sync.failure();
  }

  rewrite(): void {
    this.#sync.rewrite();
  }

  async start(): Promise<void> {
    const sources = [this.#views, this.#nodes];
    await Promise.all(sources.map((source) => source.start()));
    this.#subscribe();
    await Promise.all([...sources.map((source) => source.synced()), this.#policies?.start()]);
    await this.#sync.start(this.#allUnits());
    this.#ready = true;
  }

  async stop(): Promise<void> {
    this.#ready = false;
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#sync.stop();
    await this.#deps.healthPorts?.stop();
    await this.#policies?.stop();
    await Promise.all([this.#views.stop(), this.#nodes.stop()]);
    await this.#events.stop();
  }

  #reportFailure(reason: string): void {
    const node = this.#nodes.get({ name: this.#deps.nodeName });
    if (node === undefined) return;
    const message = `Addresses of services are not routed and network policies are not enforced as they should be: ${reason}`;
    this.#events.event(node, { type: 'Warning', reason: 'FailedToSyncProxyRules', message });
  }

  #subscribe(): void {
    this.#unsubscribe.push(
      this.#views.services.onChange(({ key }) => {
        this.#metrics.serviceChanged();
        this.#touchService(key);
      }),
      this.#views.slices.onChange(({ object, old }) => {
        this.#metrics.endpointsChanged();
        for (const key of new Set([object, old].flatMap(serviceOfSlice))) this.#touchService(key);
      }),
      this.#nodes.onChange(({ object, old }) => {
        // The zone decides about the hints of every endpoint.
        this.#sync.touch(zoneOf(object) === zoneOf(old) ? [BASE_UNIT] : this.#allUnits());
      }),
    );
  }

  #touchService(key: string): void {
    this.#healthChanged.add(key);
    this.#sync.touch([`${SERVICE_UNIT}${key}`]);
  }

  /** After the rules: a load balancer sends traffic here when the port says that endpoints are here. */
  #serveHealthPorts(): void {
    const { healthPorts, nodeName, isForAllNodes } = this.#deps;
    if (healthPorts === undefined || this.#healthChanged.size === 0) return;
    for (const key of this.#healthChanged) {
      const view = this.#views.view(key);
      const port = view && healthPortOf(view, isForAllNodes === true ? undefined : nodeName);
      if (port === undefined) this.#healthPorts.delete(key);
      else this.#healthPorts.set(key, port);
    }
    this.#healthChanged.clear();
    void healthPorts.serve([...this.#healthPorts.values()]);
  }

  #allUnits(): readonly string[] {
    const services = this.#views.services
      .list()
      .map(({ metadata }) => `${SERVICE_UNIT}${metadata.namespace}/${metadata.name}`);
    return [BASE_UNIT, ...services, ...(this.#policies?.units() ?? [])];
  }

  #fragmentOf(unit: string, family: Family): Fragment | undefined {
    if (this.#policies?.has(unit) === true) return this.#policies.fragmentOf(unit, family);
    const { nodeName, isForAllNodes, options, relayed = [], machineLink } = this.#deps;
    const node = this.#nodes.get({ name: nodeName });
    if (unit === BASE_UNIT)
      return baseFragment(family, { node, machineLink, relayed: relayed.map(({ address }) => address) }, options);
    const view = this.#views.view(unit.slice(SERVICE_UNIT.length));
    if (view === undefined) return undefined;
    return serviceFragment(view, family, {
      nodeName: isForAllNodes === true ? undefined : nodeName,
      zone: zoneOf(node),
    });
  }
}

const zoneOf = (node: Node | undefined): string | undefined => node?.metadata.labels?.[ZONE_LABEL];
