import { DEFAULT_FEATURES, type Features, type RuleEngine, VALIDATING_ADMISSION_POLICIES } from '@holdfast/api';
import type { Notes } from '@holdfast/bus';
import type { ApiHandler } from '@holdfast/client';
import {
  type Clock,
  type Ids,
  type Log,
  MetricRegistry,
  NO_TRACER,
  type Service,
  type Tracer,
} from '@holdfast/platform';
import { parseKey, type Store, traceWrites } from '@holdfast/store';
import { type AdmissionChain, createAdmissionChain } from './admission/chain.ts';
import type { Converter } from './admission/dynamic/views.ts';
import { createAdmissionMetrics } from './admission/metrics.ts';
import type { OptionalPlugin } from './admission/optional-plugins-setting.ts';
import { createPolicyStatus } from './admission/policy-status.ts';
import { Aggregation } from './aggregation/aggregation.ts';
import { addAvailabilityMetrics } from './aggregation/availability-metrics.ts';
import type { FrontProxy } from './aggregation/remote-connection.ts';
import { createClaimReader } from './allocation/claims.ts';
import { addressRange, DEFAULT_SERVICE_NETWORK, type Range } from './allocation/ranges.ts';
import { type AuditOptions, Auditor } from './audit/auditor.ts';
import { clientCertificates } from './authentication/client-certificates.ts';
import { API_SERVER } from './authentication/identity.ts';
import { createServiceAccountAuthenticator } from './authentication/service-accounts.ts';
import { createStaticTokenAuthenticator, type StaticTokens } from './authentication/static-tokens.ts';
import type { Access } from './authorization/access.ts';
import { componentRoles } from './authorization/component-roles.ts';
import { createNodeAuthorizer } from './authorization/nodes.ts';
import { publicPaths } from './authorization/public-paths.ts';
import { createRbac } from './authorization/rbac.ts';
import { superusers } from './authorization/superusers.ts';
import { createAccountTokens } from './bootstrap/account-tokens.ts';
import { type ApiAddress, announce } from './bootstrap/announcement.ts';
import { createEventSweeper } from './bootstrap/event-sweeper.ts';
import { untilStoreServes } from './bootstrap/store-patience.ts';
import { ensureFlowObjects, ensureSystemObjects, type SystemFacts } from './bootstrap/system-objects.ts';
import { createReader, type ObjectReader } from './cache/reader.ts';
import { type ObjectFeed, WatchCache } from './cache/watch-cache.ts';
import type { Core } from './core.ts';
import { type KeyServices, NO_KEY_SERVICES } from './encryption/setting.ts';
import { createCatalog } from './endpoints/catalog.ts';
import { createDirectory } from './endpoints/directory.ts';
import type { HealthCheck } from './endpoints/health.ts';
import { createServiceLevels } from './endpoints/service-levels.ts';
import { createLazyRuleEngine } from './expressions/load.ts';
import { FlowControl } from './flow-control/flow-control.ts';
import { createFlowObjects } from './flow-control/flow-objects.ts';
import { createAuthorNotes } from './history/author-notes.ts';
import { History, type HistoryOptions } from './history/history.ts';
import { KnownSelectors } from './http/known-selectors.ts';
import { Warnings } from './http/warnings.ts';
import { createWriteGate } from './http/write-gate.ts';
import { coresByRoom } from './http/write-room.ts';
import { YamlReader } from './http/yaml-reader.ts';
import { asEquivalent } from './kinds/conversion.ts';
import { CustomKinds } from './kinds/custom-kinds.ts';
import { createDefinitionController } from './kinds/definition-controller.ts';
import { DEFAULT_TOLERATION_SECONDS, REQUEST_TIMEOUT_MAX_MS, SERVER_SEATS } from './limits.ts';
import { createLineageGuard } from './lineage/guard.ts';
import { describeForm, type StoreForm } from './log-store-settings.ts';
import { createApiMetrics } from './metrics/api-metrics.ts';
import { fieldReadersOf } from './objects/field-readers.ts';
import { createOpenApiDocuments } from './openapi/documents.ts';
import { CommonDeadline } from './pipeline/common-deadline.ts';
import { createAuditedHandler, createHandler } from './pipeline/handler.ts';
import { answer, type Pipeline } from './pipeline/pipeline.ts';
import type { NodeGateway } from './proxy/node-gateway.ts';
import type { KnownState } from './relay/index.ts';
import { createHttpsWebhookCaller } from './service-calls/https-caller.ts';
import type { WebhookCaller } from './service-calls/port.ts';
import type { SharedStates } from './shared-states.ts';
import { createTokenSigner, type TokenSigner } from './tokens/jwt.ts';
import { createServiceAccountTokens, DEFAULT_ISSUER } from './tokens/service-account-tokens.ts';
import type { AnswersUnderWay } from './turns/answers-under-way.ts';
import { Turns } from './turns/turns.ts';
import { deleteObject } from './verbs/delete.ts';
import { SharedFrames } from './verbs/shared-frames.ts';
import { WatchPlaces } from './verbs/watch-places.ts';

export interface ApiServerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer?: Tracer;
  readonly tokens: StaticTokens;
  /** The transport's pending answers: no request begins while there are many. */
  readonly answers?: AnswersUnderWay;
  readonly defaultTolerationSeconds?: number;
  /** Default: true. */
  readonly allowPrivileged?: boolean;
  /** Default: none. */
  readonly optionalPlugins?: ReadonlySet<OptionalPlugin>;
  /** Addresses of services; every apiserver of a cluster has the same. */
  readonly serviceNetwork?: string;
  /** `off` lets everybody remove a bound pod: only for showing that the checkers notice. */
  readonly ownershipRule?: 'enforced' | 'off';
  /** Present: service accounts get tokens, and every new pod a volume with one. */
  readonly serviceAccounts?: ServiceAccountOptions;
  /** False: pods get no service account and no token volume. Default: they do where tokens are issued. */
  readonly serviceAccountAdmission?: boolean;
  /** Present: the way to the kubelets, for logs and streams of pods. */
  readonly nodes?: (reader: ObjectReader) => NodeGateway;
  /**
   * Nodes whose kubelets run in this process, where this is the only API server of the store: no other machine can have their names, and
   * `refuseOtherIncarnation` does not ask which one they are.
   */
  readonly ownNodes?: ReadonlySet<string>;
  /** Default: those of Kubernetes 1.32. */
  readonly features?: Features;
  /** Evaluates the rules of custom resources. Default: the engine of `@holdfast/cel`, loaded with the first rule. */
  readonly rules?: RuleEngine;
  /** Default: over HTTPS. */
  readonly webhooks?: WebhookCaller;
  /** Requests that are executed at one time, those of exempt levels left out. Each API server has so many for itself. */
  readonly seats?: number;
  /** PEM of the authority that signs client certificates. */
  readonly clientCa?: string | undefined;
  /** Present: requests are audited. */
  readonly audit?: AuditOptions | undefined;
  /** What the store is and what it survives, for people who look. */
  readonly storeForm?: StoreForm;
  /** Present: every revision is kept for a time, with who wrote it. */
  readonly history?: HistoryOptions | undefined;
  /** When present, authenticates this server to aggregated servers, so that they trust its user headers. */
  readonly frontProxy?: FrontProxy | undefined;
  /** The services that the encryption of the store depends on. */
  readonly keyServices?: KeyServices;
  /** True: the store is a copy in which a server of this version with these settings has written the system objects. */
  readonly hasSystemObjects?: boolean;
  /** Present: other API servers of this process have stores that began with the same objects. */
  readonly sharedStates?: SharedStates | undefined;
  /** True: a new cluster gets the storage class "standard". */
  readonly defaultStorageClass?: boolean;
}

export interface ServiceAccountOptions {
  /** RSA or P-256, PEM, or what was made of it. All apiservers of a cluster share it. */
  readonly signingKey: string | TokenSigner;
  /** PEM of further keys whose tokens are accepted; only beside a PEM text. */
  readonly verificationKeys?: string;
  readonly issuer?: string;
  /** Default: the issuer. */
  readonly audiences?: readonly string[];
}

export interface ApiServer extends Service {
  /** The one request pipeline behind every transport. */
  readonly handle: ApiHandler;
  /** For the relay in this process: the watch cache's copy of a state, parsed at most once for all. */
  readonly knownState: KnownState;
  /** Empty when requests are served and durable; else sentences on what is wrong. */
  readonly health: () => Promise<readonly string[]>;
  /** Tells the other API servers who wrote, and hears it from them. Nothing without them, or without a history. */
  readonly shareAuthors: (notes: Notes | undefined) => readonly Service[];
  /** For a single-server cluster: publishes this address in the service `kubernetes`. */
  readonly announce: (at: ApiAddress) => Promise<void>;
}

export function createApiServer(deps: ApiServerDeps): ApiServer {
  const wake: Wake = { definition: () => {}, flowObjects: () => {}, policy: () => {} };
  const registry = new MetricRegistry();
  const core = createCore(deps, wake, registry);
  const { keyServices = NO_KEY_SERVICES } = deps;
  keyServices.registerMetrics(registry);
  let ready = false;
  const pipeline: Pipeline = {
    core,
    inRoom: coresByRoom(core),
    checks: healthChecks(core, keyServices.checks, () => ready),
  };
  const { audit } = deps;
  const handle =
    audit === undefined
      ? createHandler(pipeline)
      : createAuditedHandler(pipeline, new Auditor({ ...audit, clock: deps.clock, ids: deps.ids, registry }));
  const handleAsSystem: ApiHandler = (request) =>
    answer(pipeline, { request, user: API_SERVER, warnings: new Warnings(), flow: {} });
  const eventSweeper = createEventSweeper(core);
  const definitions = createDefinitionController({ core, handle: handleAsSystem, user: API_SERVER, deleteObject });
  wake.definition = (name) => definitions.wake(name);
  const flowObjects = createFlowObjects(core, handleAsSystem, () => ensureFlowObjects(handleAsSystem, deps.clock));
  wake.flowObjects = () => flowObjects.wake();
  const policyStatus = createPolicyStatus(core, handleAsSystem);
  wake.policy = (name) => policyStatus.wake(name);
  const { tokens } = core.access;
  const accountTokens = tokens === undefined ? undefined : createAccountTokens(core, tokens, handleAsSystem);
  const starting = new AbortController();
  const start = async (): Promise<void> => {
    for (const sink of audit?.sinks ?? []) await sink.start();
    await untilStoreServes(core, starting.signal, () => core.cache.start());
    if (deps.hasSystemObjects !== true) await ensureSystemObjects(handleAsSystem, deps.clock, systemFacts(deps));
    eventSweeper.start();
    definitions.start();
    core.aggregation.start({ ...core, handle: handleAsSystem });
    flowObjects.start();
    policyStatus.start([]);
    accountTokens?.start();
    ready = true;
  };
  let started: Promise<void> | undefined;
  return {
    name: 'apiserver',
    handle,
    knownState: (key, revision) => core.cache.stateAt(key, revision)?.object,
    // One problem can fail several checks.
    health: async () => [
      ...new Set((await Promise.all(pipeline.checks.map(async (check) => check.problems()))).flat()),
    ],
    shareAuthors: (notes) => authorNotesOf(core, notes),
    announce: (at) => announce(handleAsSystem, deps.log, at),
    start: () => (started ??= start()),
    stop: async () => {
      starting.abort();
      core.deadline.stop();
      eventSweeper.stop();
      await definitions.stop();
      await core.aggregation.stop();
      await flowObjects.stop();
      await policyStatus.stop();
      await accountTokens?.stop();
      await core.yaml.stop();
      await core.cache.stop();
      await core.history?.close();
      await Promise.all((audit?.sinks ?? []).map((sink) => sink.stop()));
    },
  };
}

function authorNotesOf({ history, ...core }: Core, notes: Notes | undefined): readonly Service[] {
  return history === undefined || notes === undefined ? [] : [createAuthorNotes({ ...core, history, notes })];
}

const systemFacts = (deps: ApiServerDeps): SystemFacts => ({
  addresses: serviceAddresses(deps),
  clientCa: deps.clientCa,
  frontProxyCa: deps.frontProxy?.ca,
  defaultStorageClass: deps.defaultStorageClass,
});

/** The controllers of definitions, flow control and policies need the pipeline, which needs the kinds and the flows. */
interface Wake {
  definition: (name: string) => void;
  flowObjects: () => void;
  policy: (name: string) => void;
}

/** Policies that are there at the start wait in the controller until it starts. */
const policyFeed = (wake: Wake): ObjectFeed => ({
  group: VALIDATING_ADMISSION_POLICIES.group,
  resource: VALIDATING_ADMISSION_POLICIES.plural,
  reset: () => {},
  put: ({ name }) => wake.policy(name),
  remove: () => {},
});

/** Parsers of client texts. */
const createTextReaders = (clock: Clock): Pick<Core, 'yaml' | 'selectors'> => ({
  yaml: new YamlReader(clock),
  selectors: new KnownSelectors(),
});

function createCore(deps: ApiServerDeps, wake: Wake, registry: MetricRegistry): Core {
  const { clock, ids, log, tracer = NO_TRACER } = deps;
  const store = deps.tracer === undefined ? deps.store : traceWrites(deps.store, deps.tracer);
  const rules = deps.rules ?? createLazyRuleEngine(clock);
  const aggregation = new Aggregation({ clock, ids, log, frontProxy: deps.frontProxy });
  const onDefinition = (name: string): void => {
    wake.definition(name);
    aggregation.definitionChanged(name);
  };
  const onChange = (group: string, plural: string): void => cache.endWatchesOf(group, plural);
  const kinds = new CustomKinds({ rules, log, onChange, onDefinition });
  const history = deps.history === undefined ? undefined : new History({ ...deps.history, store, clock, log });
  const cache: WatchCache = new WatchCache({
    recorder: history,
    store,
    clock,
    log,
    fieldsOf: (group, resource) => fieldReadersOf(kinds, group, resource),
    feeds: [kinds, ...aggregation.feeds, policyFeed(wake)],
    cachedOf: deps.sharedStates?.cachedOf,
  });
  followUnreadable(store, cache);
  const reader = createReader({ store, cache, clock });
  const access = createAccess(deps, { cache, reader });
  const nodes = deps.nodes?.(reader);
  const webhooks = deps.webhooks ?? createHttpsWebhookCaller(clock, (place) => nodes?.dial?.(place));
  const catalog = createCatalog(kinds);
  const flowControl = createFlowControl(deps, cache, wake);
  const metrics = createApiMetrics({ registry, store, storeForm: deps.storeForm, cache, kinds, flowControl });
  addAvailabilityMetrics(registry, aggregation.apis);
  const convert: Converter = (object, kinds) =>
    asEquivalent({ reader, ids, clock, log, webhooks, metrics }, object, kinds);
  const admission = createAdmission(deps, { store, cache, reader, kinds, convert, webhooks, access, registry });
  return {
    turns: new Turns(clock, deps.answers),
    deadline: new CommonDeadline(clock, REQUEST_TIMEOUT_MAX_MS),
    ...createTextReaders(clock),
    flowControl,
    store,
    storeForm: deps.storeForm,
    cache,
    history,
    kinds,
    catalog,
    directory: createDirectory(catalog, aggregation),
    webhooks,
    aggregation,
    lineage: createLineageGuard({ store, cache }),
    reader,
    access,
    admission,
    openApi: createOpenApiDocuments(catalog, aggregation),
    writeGate: createWriteGate(),
    watchPlaces: new WatchPlaces(),
    sharedFrames: new SharedFrames(),
    metrics,
    serviceLevels: createServiceLevels(),
    tracer,
    nodes,
    ownNodes: deps.ownNodes ?? new Set(),
    features: deps.features ?? DEFAULT_FEATURES,
    rules,
    clock,
    ids,
    log,
  };
}

const createFlowControl = (deps: ApiServerDeps, cache: WatchCache, wake: Wake): FlowControl =>
  new FlowControl({
    cache,
    clock: deps.clock,
    seats: deps.seats ?? SERVER_SEATS,
    onChange: () => wake.flowObjects(),
    matcherOf: deps.sharedStates?.matcherOf,
  });

interface AdmissionParts extends Pick<Core, 'store' | 'cache' | 'reader' | 'webhooks' | 'access'> {
  readonly kinds: CustomKinds;
  readonly convert: Converter;
  readonly registry: MetricRegistry;
}

const createAdmission = (deps: ApiServerDeps, { store, cache, registry, ...parts }: AdmissionParts): AdmissionChain =>
  createAdmissionChain({
    ...parts,
    metrics: createAdmissionMetrics(registry),
    log: deps.log,
    ids: deps.ids,
    clock: deps.clock,
    serviceAccounts: deps.serviceAccounts === undefined || deps.serviceAccountAdmission === false ? 'off' : 'mounted',
    defaultTolerationSeconds: deps.defaultTolerationSeconds ?? DEFAULT_TOLERATION_SECONDS,
    allowPrivileged: deps.allowPrivileged ?? true,
    optionalPlugins: deps.optionalPlugins ?? new Set(),
    claims: createClaimReader(store, cache),
    serviceAddresses: serviceAddresses(deps),
    ownershipRule: deps.ownershipRule ?? 'enforced',
    podPriority: (deps.features ?? DEFAULT_FEATURES).podPriority,
  });

/** A watch never passes over a change that it cannot show. The cache gets the object when it can be read. */
function followUnreadable({ atRest }: Store, cache: WatchCache): void {
  atRest?.onUnreadable((key) => {
    const { group, resource } = parseKey(key);
    cache.endWatchesOf(group, resource);
  });
  atRest?.onReadable((object) => cache.restore(object));
}

const serviceAddresses = (deps: ApiServerDeps): Range => addressRange(deps.serviceNetwork ?? DEFAULT_SERVICE_NETWORK);

function createAccess(deps: ApiServerDeps, own: { readonly cache: WatchCache; readonly reader: ObjectReader }): Access {
  const { clock, ids, serviceAccounts } = deps;
  const issuer = serviceAccounts?.issuer ?? DEFAULT_ISSUER;
  const tokens =
    serviceAccounts === undefined
      ? undefined
      : createServiceAccountTokens({
          signer: signerOf(serviceAccounts),
          issuer,
          audiences: serviceAccounts.audiences ?? [issuer],
          reader: own.reader,
          clock,
          ids,
        });
  const rbac = createRbac(own);
  return {
    tokens,
    rbac,
    authenticators: [
      clientCertificates,
      createStaticTokenAuthenticator(deps.tokens),
      ...(tokens === undefined ? [] : [createServiceAccountAuthenticator(tokens)]),
    ],
    authorizers: [superusers, publicPaths, componentRoles, createNodeAuthorizer(own.reader), rbac],
  };
}

const signerOf = ({ signingKey, verificationKeys }: ServiceAccountOptions): TokenSigner =>
  typeof signingKey === 'string' ? createTokenSigner(signingKey, verificationKeys) : signingKey;

const encryptionCheck = ({ atRest }: Store): HealthCheck => ({
  name: 'encryption',
  forLiveness: false,
  problems: () => {
    const first = atRest?.unreadable('');
    if (atRest === undefined || first === undefined) return [];
    return [`${atRest.unreadableCount()} object(s) cannot be decrypted, the first: ${first.message}`];
  },
});

function healthChecks(core: Core, keyServices: readonly HealthCheck[], isReady: () => boolean): readonly HealthCheck[] {
  return [
    { name: 'ping', forLiveness: true, problems: () => [] },
    {
      name: 'store',
      forLiveness: false,
      problems: () => core.store.health(),
      cautions: () => core.store.cautions?.() ?? [],
      ...(core.storeForm === undefined ? {} : { about: describeForm(core.storeForm) }),
    },
    ...(core.store.atRest === undefined ? [] : [encryptionCheck(core.store)]),
    ...keyServices,
    { name: 'watch-cache', forLiveness: false, problems: () => core.cache.health() },
    { name: 'start', forLiveness: false, problems: () => (isReady() ? [] : ['the server is starting']) },
  ];
}
