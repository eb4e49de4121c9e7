import {
  BOOTSTRAP_FLOW_SCHEMAS,
  BOOTSTRAP_PRIORITY_LEVELS,
  danglingCondition,
  FLOW_SCHEMAS,
  type FlowSchema,
  type FlowSchemaCondition,
  isObsolete,
  type KubeObject,
  PRIORITY_LEVEL_CONFIGURATIONS,
  type ResourceRef,
} from '@holdfast/api';
import type { ApiHandler } from '@holdfast/client';
import { describeError, formatTime, type Timer } from '@holdfast/platform';
import type { Core } from '../core.ts';
import { FLOW_OBJECTS_KEPT_MS, FLOW_STATUS_WRITES_A_MINUTE } from '../limits.ts';

export interface FlowObjects {
  /** A schema or a level came, changed or went. */
  wake(): void;
  start(): void;
  stop(): Promise<void>;
}

const MINUTE_MS = 60_000;

/** The field manager of the status, as in Kubernetes. */
const STATUS_MANAGER = 'api-priority-and-fairness-config-consumer-v1';

/** Creates and updates the objects of flow control that every cluster has. */
export type EnsureFlowObjects = () => Promise<void>;

/**
 * Keeps the objects of flow control. It creates what every cluster has, updates these objects unless an administrator manages them,
 * and writes into the status of each schema whether its level exists. Every API server does so; compare-and-swap lets one of them write.
 */
export function createFlowObjects(core: Core, handle: ApiHandler, ensureObjects: EnsureFlowObjects): FlowObjects {
  return new Keeper(core, handle, ensureObjects);
}

class Keeper implements FlowObjects {
  readonly #core: Core;
  readonly #handle: ApiHandler;
  readonly #ensureObjects: EnsureFlowObjects;
  /** When the status of a schema was written, in the last minute. */
  readonly #written = new Map<string, number[]>();
  #timer: Timer | undefined;
  #state: 'new' | 'running' | 'stopped' = 'new';
  #isDue = false;
  #running: Promise<void> | undefined;

  constructor(core: Core, handle: ApiHandler, ensureObjects: EnsureFlowObjects) {
    this.#core = core;
    this.#handle = handle;
    this.#ensureObjects = ensureObjects;
  }

  start(): void {
    this.#state = 'running';
    this.#schedule();
    this.wake();
  }

  wake(): void {
    this.#isDue = true;
    if (this.#state === 'running') this.#run();
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    this.#timer?.cancel();
    await this.#running;
  }

  #schedule(): void {
    this.#timer = this.#core.clock.timer(FLOW_OBJECTS_KEPT_MS, () => {
      this.#keep()
        .catch((error: unknown) =>
          this.#core.log.warn('flow control objects could not be reconciled', { error: describeError(error) }),
        )
        .finally(() => {
          if (this.#state === 'running') this.#schedule();
        });
    });
  }

  async #keep(): Promise<void> {
    await this.#ensureObjects();
    await this.#removeObsolete(FLOW_SCHEMAS, BOOTSTRAP_FLOW_SCHEMAS);
    await this.#removeObsolete(PRIORITY_LEVEL_CONFIGURATIONS, BOOTSTRAP_PRIORITY_LEVELS);
    // Retries earlier failures.
    this.wake();
  }

  async #removeObsolete(ref: ResourceRef<KubeObject>, wanted: readonly { readonly name: string }[]): Promise<void> {
    const known = new Set(wanted.map(({ name }) => name));
    for (const { metadata } of this.#core.reader.list(ref)) {
      if (!isObsolete({ metadata }, known)) continue;
      const { name = '', uid } = metadata;
      const body = JSON.stringify({ preconditions: { uid } });
      await this.#send('DELETE', `${pathOf(ref)}/${name}`, { body });
    }
  }

  #run(): void {
    this.#running ??= this.#tellAll()
      .catch((error: unknown) =>
        this.#core.log.warn('the status of flow schemas was not written', { error: describeError(error) }),
      )
      .finally(() => {
        this.#running = undefined;
        if (this.#isDue && this.#state === 'running') this.#run();
      });
  }

  async #tellAll(): Promise<void> {
    // The cache reports a change in the middle of a request.
    await Promise.resolve();
    this.#isDue = false;
    const { reader, clock } = this.#core;
    const levels = new Set(reader.list(PRIORITY_LEVEL_CONFIGURATIONS).map(({ metadata }) => metadata.name));
    const now = formatTime(clock.now());
    const told = reader.list(FLOW_SCHEMAS).map(async (schema) => {
      const exists = levels.has(schema.spec.priorityLevelConfiguration.name);
      const condition = danglingCondition(schema, exists, now);
      if (condition !== undefined) await this.#tell(schema, condition);
    });
    await Promise.all(told);
  }

  async #tell({ metadata: { name = '' } }: FlowSchema, condition: FlowSchemaCondition): Promise<void> {
    if (!this.#mayWrite(name)) return;
    const { group, version } = FLOW_SCHEMAS;
    const body = {
      apiVersion: `${group}/${version}`,
      kind: 'FlowSchema',
      metadata: { name },
      status: { conditions: [condition] },
    };
    await this.#send('PATCH', `${pathOf(FLOW_SCHEMAS)}/${name}/status`, {
      body: JSON.stringify(body),
      contentType: 'application/apply-patch+yaml',
      query: { fieldManager: STATUS_MANAGER, force: 'true' },
    });
  }

  #mayWrite(name: string): boolean {
    const now = this.#core.clock.monotonic();
    const recent = (this.#written.get(name) ?? []).filter((at) => at > now - MINUTE_MS);
    if (recent.length >= FLOW_STATUS_WRITES_A_MINUTE) return false;
    this.#written.set(name, [...recent, now]);
    return true;
  }

  async #send(
    method: 'DELETE' | 'PATCH',
    path: string,
    sent: { readonly body: string; readonly contentType?: string; readonly query?: Readonly<Record<string, string>> },
  ): Promise<void> {
    const { body, contentType = 'application/json', query = {} } = sent;
    const headers = { 'content-type': contentType, 'user-agent': 'kube-apiserver' };
    const answer = await this.#handle({ method, path, query: new URLSearchParams(query), headers, body });
    // Another server or a user was faster.
    if (answer.status < 300 || answer.status === 404 || answer.status === 409) return;
    this.#core.log.warn('a flow control object could not be written', { path, status: answer.status });
  }
}

const pathOf = ({ group, version, plural }: ResourceRef<KubeObject>): string => `/apis/${group}/${version}/${plural}`;
