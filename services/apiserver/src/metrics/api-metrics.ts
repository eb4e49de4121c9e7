import { allResources, type ResourceDefinition } from '@holdfast/api';
import { labelText, type MetricRegistry } from '@holdfast/platform';
import { roomCautions, type Store } from '@holdfast/store';
import type { WatchCache } from '../cache/watch-cache.ts';
import { VERSION } from '../endpoints/version.ts';
import type { FlowControl } from '../flow-control/flow-control.ts';
import { countKinds } from '../flow-control/flow-metrics.ts';
import type { RequestInfo, ResourceRequest } from '../http/request-info.ts';
import type { Kinds } from '../kinds/custom-kinds.ts';
import type { StoreForm } from '../log-store-settings.ts';
import { subresourcesOf } from '../subresources/served-subresources.ts';

/** Metrics with the names of Kubernetes dashboards. */
export interface ApiMetrics {
  /** A finished request. Watches are counted when they open; their duration says nothing about the server. */
  requestDone(info: RequestInfo, code: number, durationSeconds: number): void;
  /** A call of a conversion webhook ended; '' when it succeeded. */
  conversionDone(failure: ConversionFailure | '', durationSeconds: number): void;
  render(): string;
}

export type ConversionFailure =
  | 'conversion_call_failure'
  | 'conversion_malformed_response_failure'
  | 'conversion_partial_response_failure'
  | 'conversion_invalid_converted_object_failure';

const DURATION_BUCKETS = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

export interface ApiMetricsDeps {
  readonly registry: MetricRegistry;
  readonly store: Pick<Store, 'haltedBy' | 'usage'>;
  readonly storeForm?: StoreForm | undefined;
  readonly cache: WatchCache;
  readonly kinds: Kinds;
  readonly flowControl: FlowControl;
}

export function createApiMetrics(deps: ApiMetricsDeps): ApiMetrics {
  const { registry } = deps;
  const requests = registry.counter('apiserver_request_total', 'Requests by verb, resource and HTTP status.', [
    'verb',
    'group',
    'version',
    'resource',
    'subresource',
    'scope',
    'code',
  ]);
  const durations = registry.histogram('apiserver_request_duration_seconds', 'Time from request to answer.', {
    labelNames: ['verb', 'group', 'version', 'resource', 'subresource', 'scope'],
    buckets: DURATION_BUCKETS,
  });
  const levels = registry.histogram('apiserver_request_sli_duration_seconds', 'The same, for service levels.', {
    labelNames: ['verb', 'group', 'version', 'resource', 'subresource', 'scope'],
    buckets: DURATION_BUCKETS,
  });
  const buildLabels = labelText(['major', 'minor', 'git_version'], [VERSION.major, VERSION.minor, VERSION.gitVersion]);
  registry.gauge('kubernetes_build_info', 'The version of this server.', () => [[buildLabels, 1]]);
  registerCurrentRequests(registry, deps.flowControl);
  const conversions = registry.counter('apiserver_conversion_webhook_request_total', 'Calls of conversion webhooks.', [
    'result',
    'failure_type',
  ]);
  const conversionDurations = registry.histogram(
    'apiserver_conversion_webhook_duration_seconds',
    'Time of calls of conversion webhooks.',
    { labelNames: ['result', 'failure_type'], buckets: DURATION_BUCKETS },
  );
  registry.gauge('holdfast_store_halted', '1 while the store is halted because its data are inconsistent.', () => [
    ['', deps.store.haltedBy() === undefined ? 0 : 1],
  ]);
  const { storeForm } = deps;
  if (storeForm !== undefined) {
    registry.gauge('holdfast_store_form', 'What the store is, and what acknowledged writes survive. Always 1.', () => [
      [labelText(['form', 'survives'], [storeForm.name, storeForm.survives]), 1],
    ]);
  }
  registerStoreSize(registry, deps.store);
  registry.gauge('apiserver_storage_objects', 'Stored objects by resource.', () => perResource(deps, 'size'));
  registry.gauge('apiserver_registered_watchers', 'Open watches by resource.', () => perResource(deps, 'watchers'));
  registry.gauge('apiserver_watch_cache_resource_version', 'Newest revision that the cache holds.', () => [
    ['', deps.cache.revision],
  ]);
  const seriesOf = rememberedSeries(deps.kinds, (labels) => ({
    took: bothOf(durations.series(labels), levels.series(labels)),
    byCode: new Map(),
    counting: (code) => requests.series([...labels, String(code)]),
  }));
  return {
    requestDone: (info, code, durationSeconds) => {
      const series = seriesOf(info);
      let count = series.byCode.get(code);
      if (count === undefined) {
        count = series.counting(code);
        series.byCode.set(code, count);
      }
      count();
      if (info.verb !== 'watch') series.took(durationSeconds);
    },
    conversionDone: (failure, durationSeconds) => {
      const labels = [failure === '' ? 'success' : 'failure', failure];
      conversions.series(labels)();
      conversionDurations.series(labels)(durationSeconds);
    },
    render: () => registry.render() + deps.flowControl.metrics.render(),
  };
}

const bothOf =
  (first: (seconds: number) => void, second: (seconds: number) => void) =>
  (seconds: number): void => {
    first(seconds);
    second(seconds);
  };

/** Watches count until they have begun, other streams not at all. */
function registerCurrentRequests(registry: MetricRegistry, flowControl: FlowControl): void {
  const gauge = (name: string, help: string, state: 'executing' | 'waiting'): void =>
    registry.gauge(name, help, () => {
      const { mutating, readOnly } = countKinds(flowControl.requests());
      return [
        ['request_kind="mutating"', mutating[state]],
        ['request_kind="readOnly"', readOnly[state]],
      ];
    });
  gauge('apiserver_current_inflight_requests', 'Requests that are being served.', 'executing');
  gauge('apiserver_current_inqueue_requests', 'Requests that wait for a seat.', 'waiting');
}

function registerStoreSize(registry: MetricRegistry, store: Pick<Store, 'usage'>): void {
  registry.gauge('apiserver_storage_size_bytes', 'Size of objects and kept history.', () => {
    const { objectBytes, historyBytes } = store.usage();
    return [[labelText(['storage_cluster_id'], ['etcd-0']), objectBytes + historyBytes]];
  });
  registry.gauge('holdfast_store_bytes', 'Size of what the store holds, by part.', () => {
    const { objectBytes, historyBytes } = store.usage();
    return [
      [labelText(['part'], ['objects']), objectBytes],
      [labelText(['part'], ['history']), historyBytes],
    ];
  });
  registry.gauge('holdfast_store_limit_bytes', 'Maximum size of the store; 0 = no limit.', () => [
    ['', store.usage().limits?.bytes ?? 0],
  ]);
  registry.gauge('holdfast_store_full', '1 when the store is nearly full or refuses what would make it larger.', () => [
    ['', roomCautions(store.usage()).length],
  ]);
}

interface RequestSeries {
  readonly took: (seconds: number) => void;
  readonly byCode: Map<number, () => void>;
  readonly counting: (code: number) => () => void;
}

/** For equal requests. */
function rememberedSeries(
  kinds: Kinds,
  make: (labels: readonly string[]) => RequestSeries,
): (info: RequestInfo) => RequestSeries {
  const paths = new Map<string, RequestSeries>();
  /** A kind that goes takes what is remembered of it along. */
  const known = new WeakMap<ResourceDefinition, Map<string, RequestSeries>>();
  return (info) => {
    const definition = info.kind === 'path' ? undefined : kinds.find(info.group, info.version, info.resource);
    const manner = definition === undefined ? `${info.kind} ${info.verb}` : mannerOf(info, definition);
    let ofPlace = definition === undefined ? paths : known.get(definition);
    if (ofPlace === undefined) {
      ofPlace = new Map();
      if (definition !== undefined) known.set(definition, ofPlace);
    }
    let series = ofPlace.get(manner);
    if (series === undefined) {
      series = make(labelsOf(info, definition));
      ofPlace.set(manner, series);
    }
    return series;
  };
}

function mannerOf(info: RequestInfo, definition: ResourceDefinition | undefined): string {
  if (info.kind === 'path' || definition === undefined) return info.verb;
  return `${info.verb} ${subresourceOf(info, definition)} ${scopeOf(info)}`;
}

/** Unknown paths, versions, resources and subresources share one series, so that a scanner cannot fill the memory with names. */
function labelsOf(info: RequestInfo, definition: ResourceDefinition | undefined): readonly string[] {
  if (info.kind === 'path') return [info.verb.toUpperCase(), '', '', '', '', ''];
  if (definition === undefined) return [verbOf(info), '', '', 'other', '', ''];
  const { group, version, resource } = info;
  return [verbOf(info), group, version, resource, subresourceOf(info, definition), scopeOf(info)];
}

/** Kubernetes counts writes by their methods, and dashboards select them so. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ['create', 'POST'],
  ['update', 'PUT'],
]);

const verbOf = ({ verb }: ResourceRequest): string => METHODS.get(verb) ?? verb.toUpperCase();

const scopeOf = ({ name, namespace }: ResourceRequest): string =>
  name === '' ? (namespace === '' ? 'cluster' : 'namespace') : 'resource';

const subresourceOf = ({ subresource }: ResourceRequest, definition: ResourceDefinition): string =>
  isServed(definition, subresource) ? subresource : '';

const servedOf = new WeakMap<ResourceDefinition, ReadonlySet<string>>();

function isServed(definition: ResourceDefinition, subresource: string): boolean {
  if (subresource === '') return false;
  const served = servedOf.get(definition) ?? new Set(subresourcesOf(definition).map(({ name }) => name));
  servedOf.set(definition, served);
  return served.has(subresource);
}

function perResource(
  { cache, kinds }: ApiMetricsDeps,
  what: 'size' | 'watchers',
): readonly (readonly [string, number])[] {
  const custom = kinds.definitions().map(({ summary }) => ({ group: summary.group, plural: summary.names.plural }));
  return [...allResources(), ...custom].map(({ group, plural }) => {
    const resource = cache.resource(group, plural);
    const name = group === '' ? plural : `${plural}.${group}`;
    return [labelText(['resource'], [name]), what === 'size' ? resource.size : resource.watchers.size];
  });
}
