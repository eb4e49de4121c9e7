import { ENDPOINTS, SERVICES } from '@holdfast/api';
import type { ApiHandler, ApiResponse } from '@holdfast/client';
import type { Clock, Ids, Log } from '@holdfast/platform';
import type { ObjectReader } from '../cache/reader.ts';
import type { ObjectFeed } from '../cache/watch-cache.ts';
import type { Kinds } from '../kinds/custom-kinds.ts';
import type { NodeGateway } from '../proxy/node-gateway.ts';
import { type ForwardedRequest, forwardToApi } from './api-proxy.ts';
import { ApiServices, type RemoteApi } from './api-services.ts';
import { createAvailabilityController, createServiceFeed } from './availability.ts';
import { createLocalRegistrations, type LocalRegistrations } from './local-registrations.ts';
import { createRemoteConnections, type FrontProxy, type RemoteConnections } from './remote-connection.ts';
import { RemoteDocuments, type RemoteVersion } from './remote-documents.ts';
import type { RemoteOpenApi } from './remote-openapi.ts';
import type { RemoteOpenApi2 } from './remote-openapi-2.ts';

export interface AggregationDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Absent: aggregated servers get no certificate, and most of them then ignore the user headers. */
  readonly frontProxy: FrontProxy | undefined;
}

/** The dependencies on the enclosing server. */
export interface AggregationHost {
  readonly reader: ObjectReader;
  readonly nodes: NodeGateway | undefined;
  readonly kinds: Kinds;
  /** With the identity of the API server itself. */
  readonly handle: ApiHandler;
}

interface Running {
  readonly availability: ReturnType<typeof createAvailabilityController>;
  readonly registrations: LocalRegistrations;
  readonly documents: RemoteDocuments;
}

/** API servers behind this one: who they are, whether they answer, and the way to them. */
export class Aggregation {
  readonly apis: ApiServices;
  /** Consumers of watch cache changes. */
  readonly feeds: readonly ObjectFeed[];
  readonly #deps: AggregationDeps;
  #running: Running | undefined;
  #connections: RemoteConnections | undefined;

  constructor(deps: AggregationDeps) {
    this.#deps = deps;
    this.apis = new ApiServices({
      onChange: (name) => this.#registrationChanged(name),
      onAvailability: (name) => this.#running?.documents.wake(name),
    });
    const wake = (name: string): void => this.#running?.availability.wake(name);
    this.feeds = [
      this.apis,
      createServiceFeed(SERVICES, this.apis, wake),
      createServiceFeed(ENDPOINTS, this.apis, wake),
    ];
  }

  /** Called once the cache is filled. */
  start(host: AggregationHost): void {
    const { apis } = this;
    const connections = createRemoteConnections({ ...this.#deps, ...host });
    this.#connections = connections;
    const availability = createAvailabilityController({ ...this.#deps, ...host, apis, connections });
    const registrations = createLocalRegistrations({ ...this.#deps, ...host });
    const documents = new RemoteDocuments({ ...this.#deps, apis, connections });
    this.#running = { availability, registrations, documents };
    availability.start(apis.names());
    registrations.start();
    documents.start();
  }

  async stop(): Promise<void> {
    const { availability, registrations, documents } = this.#running ?? {};
    await Promise.all([availability?.stop(), registrations?.stop(), documents?.stop()]);
  }

  /** A definition came, changed or went. */
  definitionChanged(name: string): void {
    this.#running?.registrations.groupChanged(afterDot(name));
  }

  /** The answer of the server behind this one. */
  forward(forwarded: ForwardedRequest): Promise<ApiResponse> {
    const connections = this.#connections ?? NOT_STARTED;
    return forwardToApi({ ...this.#deps, connections }, forwarded);
  }

  /** Increases when another server's documents change. */
  readonly documentsGeneration = (): number => this.#running?.documents.generation ?? 0;

  /** Documents of other servers, by their names in the list of all documents. */
  readonly openApiDocuments = (): ReadonlyMap<string, RemoteOpenApi> =>
    this.#running?.documents.openApiDocuments() ?? new Map();

  /** Parts of other servers for the document of all served APIs. */
  readonly openApi2Documents = (): readonly RemoteOpenApi2[] => this.#running?.documents.openApi2Documents() ?? [];

  readonly versionOf = (api: RemoteApi): RemoteVersion =>
    this.#running?.documents.versionOf(api) ?? { resources: [], freshness: 'Stale' };

  #registrationChanged(name: string): void {
    this.#running?.documents.wake(name);
    this.#running?.availability.wake(name);
    this.#running?.registrations.groupChanged(afterDot(name));
  }
}

const NOT_STARTED: RemoteConnections = {
  find: () => 'the server is starting',
  open: () => {
    throw new Error('the server is starting');
  },
};

/** `v1.apps` and `corals.reef.example.com` end in their group. */
const afterDot = (name: string): string => name.slice(name.indexOf('.') + 1);
