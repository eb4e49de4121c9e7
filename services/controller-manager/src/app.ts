import { API_SERVICES, allResources, CUSTOM_RESOURCE_DEFINITIONS, type ResourceRef } from '@holdfast/api';
import type { Bus } from '@holdfast/bus';
import {
  type ApiClient,
  type Controller,
  createController,
  createEventRecorder,
  createLeaderElector,
  createWorkQueue,
  type LeaderElector,
} from '@holdfast/client';
import { NODE_MONITOR_GRACE_SECONDS_DEFAULT } from '@holdfast/client/node-monitor-grace';
import { type Clock, type Ids, invariant, type Log, type Random, type Service, type Tracer } from '@holdfast/platform';
import type { CertificateAuthority, ReadRequest } from './certificates/port.ts';
import { AggregatedKindPool } from './common/aggregated-kinds.ts';
import type { ControllerDefinition, ControllerIdentity, Loop } from './common/context.ts';
import { CustomKindPool } from './common/custom-kinds.ts';
import { againAfterRefusal } from './common/refusals.ts';
import type { MetricsSource } from './controllers/horizontal-pod-autoscaler/metrics-source.ts';
import { AUTOSCALING_DEFAULTS, type AutoscalingSettings } from './controllers/horizontal-pod-autoscaler/settings.ts';
import type { ClusterNetwork } from './controllers/node-ipam/cluster-network.ts';
import { createGracefulEviction, type PodEviction } from './controllers/node-lifecycle/pod-eviction.ts';
import type { LoadBalancers } from './controllers/service-load-balancer/index.ts';
import type { CsiDriverAddress } from './csi/addresses.ts';
import { openControllerDriver } from './csi/controller-driver.ts';
import type { ControllerDriver } from './csi/port.ts';
import { InformerPool } from './informers.ts';
import { AGGREGATED_BOUNDS, CLOCK_RATE_PER_MILLE_DEFAULT, TERMINATED_POD_THRESHOLD_DEFAULT } from './limits.ts';
import { allControllers, type ControllerSettings } from './registry.ts';
import { selectControllers } from './selection.ts';

export interface ControllerManagerDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer?: Tracer | undefined;
  /** Without a bus the manager watches the API. */
  readonly bus?: Bus | undefined;
  /**
   * One client per identity: the API server decides by identity who may end a pod. Without `certificates` nothing
   * approves or signs.
   */
  readonly clients: Clients;
  readonly settings?: Partial<ControllerManagerSettings>;
  /** The kinds that the API serves; controllers whose kinds are missing stay away. Default: all of this build. */
  readonly resources?: readonly ResourceRef[];
  /** Evicts pods from tainted nodes. Default: graceful deletion. */
  readonly podEviction?: (client: ApiClient) => PodEviction;
  /** The source of usage metrics for autoscalers. Default: the resource metrics API. */
  readonly metricsSource?: (client: ApiClient) => MetricsSource;
  /** How often each cache is compared with the API, whatever it believes. */
  readonly safetyCheckIntervalMs?: number;
  /** Default: gRPC over the socket. */
  readonly openCsiDriver?: (address: CsiDriverAddress, clock: Clock) => ControllerDriver;
}

type Clients = Readonly<Record<Exclude<ControllerIdentity, 'certificates'>, ApiClient>> & {
  readonly certificates?: ApiClient;
};

export interface ControllerManagerSettings {
  readonly nodeMonitorGraceSeconds: number;
  /** Maximum difference between the clock rates of two machines, in per mille. */
  readonly clockRatePerMille: number;
  readonly terminatedPodThreshold: number;
  /** `*`, names, and names with a minus in front. */
  readonly controllers: readonly string[];
  /** PEM of the authority of the API servers, published to every namespace. */
  readonly rootCa?: string;
  /**
   * With a lease only one of several managers works. Without it all work: that causes conflicts but is equally safe.
   */
  readonly leaderElection: boolean;
  readonly autoscaling: AutoscalingSettings;
  /** PEM of the authority that signs client requests. Absent: nothing is signed. */
  readonly signingAuthority?: { readonly certificate: string; readonly key: string };
  /** Networks that are cut into networks of nodes for their pods. Absent: nodes get none. */
  readonly clusterNetworks?: readonly ClusterNetwork[];
  /** A proxy or a network plugin enforces network policies. Otherwise each policy gets a warning. */
  readonly networkPoliciesEnforced: boolean;
  /** What makes load balancers for services. Absent: another program does. */
  readonly loadBalancers?: LoadBalancers;
  /** CSI drivers whose volumes these controllers make, attach and expand. Others bring their own helpers. */
  readonly csiDrivers?: readonly CsiDriverAddress[];
}

const DEFAULTS: ControllerManagerSettings = {
  nodeMonitorGraceSeconds: NODE_MONITOR_GRACE_SECONDS_DEFAULT,
  clockRatePerMille: CLOCK_RATE_PER_MILLE_DEFAULT,
  terminatedPodThreshold: TERMINATED_POD_THRESHOLD_DEFAULT,
  controllers: ['*'],
  leaderElection: false,
  autoscaling: AUTOSCALING_DEFAULTS,
  networkPoliciesEnforced: false,
};

export interface ControllerManagerService extends Service {
  /** Empty when it works, or would if it led; else sentences on what is wrong. */
  health(): readonly string[];
}

export function createControllerManager(deps: ControllerManagerDeps): ControllerManagerService {
  return new ControllerManager(deps);
}

class ControllerManager implements ControllerManagerService {
  readonly name = 'controller-manager';
  readonly #deps: ControllerManagerDeps;
  readonly #settings: ControllerManagerSettings;
  readonly #definitions: readonly ControllerDefinition[];
  readonly #informers: InformerPool;
  readonly #csiDrivers: ReadonlyMap<string, ControllerDriver>;
  /** Absent when definitions are not watched. */
  readonly #customKinds: CustomKindPool | undefined;
  /** Absent where nobody follows registrations. */
  readonly #aggregatedKinds: AggregatedKindPool | undefined;
  #stopLoops: () => Promise<void> = async () => {};
  #elector: LeaderElector | undefined;
  #state: 'new' | 'running' | 'stopped' = 'new';

  constructor(deps: ControllerManagerDeps) {
    this.#deps = deps;
    this.#settings = { ...DEFAULTS, ...deps.settings };
    const resources = deps.resources ?? allResources();
    const open = deps.openCsiDriver ?? openControllerDriver;
    const addresses = this.#settings.csiDrivers ?? [];
    this.#csiDrivers = new Map(addresses.map((address) => [address.name, open(address, deps.clock)]));
    const all = allControllers({
      csiDrivers: this.#csiDrivers,
      nodeMonitorGraceMs: this.#settings.nodeMonitorGraceSeconds * 1000,
      clockRate: this.#settings.clockRatePerMille / 1000,
      terminatedPodThreshold: this.#settings.terminatedPodThreshold,
      podEviction: deps.podEviction ?? createGracefulEviction,
      rootCa: this.#settings.rootCa,
      autoscaling: this.#settings.autoscaling,
      metricsSource: deps.metricsSource,
      nodeIpam: this.#settings.clusterNetworks && { clusterNetworks: this.#settings.clusterNetworks },
      loadBalancers: this.#settings.loadBalancers,
      networkPoliciesEnforced: this.#settings.networkPoliciesEnforced,
      ...certificateSettings(deps),
      resources,
    });
    this.#definitions = selectControllers(all, this.#settings.controllers, { resources, log: deps.log });
    this.#informers = new InformerPool({ ...deps, bus: deps.bus, client: deps.clients.manager });
    const follows = (kind: ResourceRef): boolean =>
      this.#definitions.some(({ watches }) => watches.some((each) => isSameResource(each, kind)));
    const pooled = { informers: this.#informers, log: deps.log };
    this.#customKinds = follows(CUSTOM_RESOURCE_DEFINITIONS)
      ? new CustomKindPool({ ...pooled, createCache: (kind) => this.#informers.independent(kind) })
      : undefined;
    this.#aggregatedKinds = follows(API_SERVICES)
      ? new AggregatedKindPool({
          ...pooled,
          createCache: (kind) => this.#informers.metadataOf(kind, AGGREGATED_BOUNDS),
          client: deps.clients.manager,
          clock: deps.clock,
          known: resources,
        })
      : undefined;
  }

  health(): readonly string[] {
    if (this.#state !== 'running') return ['the controllers do not run'];
    return this.#elector?.problems() ?? [];
  }

  async start(): Promise<void> {
    if (this.#state !== 'new') return;
    this.#state = 'running';
    for (const definition of this.#definitions) for (const kind of definition.watches) this.#informers.of(kind);
    try {
      await this.#informers.start();
    } catch (error) {
      if (this.#isStopped()) return;
      throw error;
    }
    if (this.#isStopped()) return;
    this.#customKinds?.start();
    this.#aggregatedKinds?.start();
    if (this.#settings.leaderElection) await this.#campaign();
    else this.#startLoops();
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    // Loops wait for their calls.
    for (const driver of this.#csiDrivers.values()) driver.close();
    await this.#elector?.stop();
    await this.#stopLoops();
    await this.#customKinds?.stop();
    await this.#aggregatedKinds?.stop();
    await this.#informers.stop();
  }

  // A method, because the state changes while `start` waits.
  #isStopped(): boolean {
    return this.#state === 'stopped';
  }

  async #campaign(): Promise<void> {
    const { clock, random, ids, log, clients } = this.#deps;
    this.#elector = createLeaderElector({
      client: clients.manager,
      lease: { namespace: 'kube-system', name: 'kube-controller-manager' },
      identity: `controller-manager-${ids.uuid()}`,
      clock,
      random,
      log,
      onStartedLeading: () => this.#startLoops(),
      onStoppedLeading: () => void this.#stopLoops(),
    });
    await this.#elector.start();
  }

  #startLoops(): void {
    if (this.#isStopped()) return;
    const running = this.#definitions.map((definition) => this.#run(definition));
    this.#stopLoops = async () => {
      this.#stopLoops = async () => {};
      for (const { unsubscribe } of running) unsubscribe();
      await Promise.all(running.flatMap(({ services }) => services.map((service) => service.stop())));
    };
  }

  #run(definition: ControllerDefinition): { readonly services: readonly Service[]; readonly unsubscribe: () => void } {
    const { clock, ids, clients } = this.#deps;
    const log = this.#deps.log.child({ controller: definition.name });
    const client = clients[definition.identity];
    invariant(client !== undefined, 'a controller has a client of its own identity', { controller: definition.name });
    const events = createEventRecorder({ client, component: definition.component, clock, ids, log });
    void events.start();
    const loops = definition.create({
      clock,
      log,
      client,
      events,
      informers: this.#informers,
      ...(this.#customKinds === undefined ? {} : { customKinds: this.#customKinds }),
      ...(this.#aggregatedKinds === undefined ? {} : { aggregatedKinds: this.#aggregatedKinds }),
    });
    const started = loops.map((loop) => this.#runLoop(loop, log));
    return {
      services: [...started.map(({ controller }) => controller), events],
      unsubscribe: () => started.forEach(({ unsubscribe }) => unsubscribe()),
    };
  }

  #runLoop(loop: Loop, log: Log): { readonly controller: Controller; readonly unsubscribe: () => void } {
    const { clock, tracer } = this.#deps;
    const queue = createWorkQueue({ clock, tracer });
    const controller = createController({
      ...loop,
      reconcile: againAfterRefusal(loop.reconcile),
      queue,
      clock,
      log,
      tracer,
    });
    const stops = loop.wake((key) => queue.add(key));
    for (const key of loop.initialKeys()) queue.add(key);
    void controller.start();
    return { controller, unsubscribe: () => stops.forEach((stop) => stop()) };
  }
}

const isSameResource = (a: ResourceRef, b: ResourceRef): boolean => a.group === b.group && a.plural === b.plural;

/** The library of certificates is loaded with the first request. */
function certificateSettings({
  clients,
  settings,
  ids,
}: ControllerManagerDeps): Pick<ControllerSettings, 'approving' | 'signing'> {
  if (clients.certificates === undefined) return {};
  const readRequest: ReadRequest = async (request) => (await import('./certificates/x509.ts')).readRequest(request);
  const pem = settings?.signingAuthority;
  if (pem === undefined) return { approving: { readRequest } };
  const authority = async (): Promise<CertificateAuthority> =>
    (await import('./certificates/x509.ts')).openAuthority(pem, ids);
  return { approving: { readRequest }, signing: { readRequest, authority } };
}
