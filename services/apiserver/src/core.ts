import type { Features, RuleEngine } from '@holdfast/api';
import type { Clock, Ids, Log, Tracer } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import type { AdmissionChain } from './admission/chain.ts';
import type { Aggregation } from './aggregation/aggregation.ts';
import type { Access } from './authorization/access.ts';
import type { ObjectReader } from './cache/reader.ts';
import type { WatchCache } from './cache/watch-cache.ts';
import type { Catalog } from './endpoints/catalog.ts';
import type { Directory } from './endpoints/directory.ts';
import type { ServiceLevels } from './endpoints/service-levels.ts';
import type { FlowControl } from './flow-control/flow-control.ts';
import type { History } from './history/history.ts';
import type { KnownSelectors } from './http/known-selectors.ts';
import type { WriteGate } from './http/write-gate.ts';
import type { YamlReader } from './http/yaml-reader.ts';
import type { Kinds } from './kinds/custom-kinds.ts';
import type { LineageGuard } from './lineage/guard.ts';
import type { StoreForm } from './log-store-settings.ts';
import type { ApiMetrics } from './metrics/api-metrics.ts';
import type { OpenApiDocuments } from './openapi/documents.ts';
import type { CommonDeadline } from './pipeline/common-deadline.ts';
import type { NodeGateway } from './proxy/node-gateway.ts';
import type { WebhookCaller } from './service-calls/port.ts';
import type { Turns } from './turns/turns.ts';
import type { SharedFrames } from './verbs/shared-frames.ts';
import type { WatchPlaces } from './verbs/watch-places.ts';

/** The dependencies of every verb. */
export interface Core {
  readonly store: Store;
  readonly cache: WatchCache;
  readonly kinds: Kinds;
  /** The kinds in discovery. */
  readonly catalog: Catalog;
  /** The same, and what the servers behind this one say of theirs. */
  readonly directory: Directory;
  /** API servers behind this one. */
  readonly aggregation: Aggregation;
  readonly lineage: LineageGuard;
  readonly reader: ObjectReader;
  readonly storeForm: StoreForm | undefined;
  /** Absent: no history is kept. */
  readonly history: History | undefined;
  readonly admission: AdmissionChain;
  readonly writeGate: WriteGate;
  readonly watchPlaces: WatchPlaces;
  readonly sharedFrames: SharedFrames;
  readonly metrics: ApiMetrics;
  readonly serviceLevels: ServiceLevels;
  /** Flow control of requests. */
  readonly flowControl: FlowControl;
  /** Of requests whose clients name none. */
  readonly deadline: CommonDeadline;
  /** The scheduling of work on this thread. */
  readonly turns: Turns;
  readonly yaml: YamlReader;
  readonly selectors: KnownSelectors;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly access: Access;
  readonly openApi: OpenApiDocuments;
  /** Absent: this server has no way to kubelets. */
  readonly nodes: NodeGateway | undefined;
  /** Bound to this process, whatever incarnation their Node names. */
  readonly ownNodes: ReadonlySet<string>;
  readonly features: Features;
  readonly rules: RuleEngine;
  readonly webhooks: WebhookCaller;
  readonly log: Log;
}
