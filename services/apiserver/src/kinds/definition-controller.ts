import {
  allResources,
  CLEANUP_FINALIZER,
  CUSTOM_RESOURCE_DEFINITIONS,
  type CustomResourceDefinition,
  type CustomResourceDefinitionStatus,
  decideCleanup,
  decideDefinitionStatus,
  failedDeletion,
  hasFailedDeletion,
  isTerminating,
  type ResourceDefinition,
  terminating,
} from '@holdfast/api';
import type { ApiHandler, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { describeError, nextTurn, type Timer } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import type { CachedObject } from '../cache/cached-object.ts';
import { catchUp } from '../cache/reader.ts';
import type { Core } from '../core.ts';
import type { ResourceContext } from '../http/context.ts';
import { negotiate } from '../http/negotiation.ts';
import {
  CLEANUP_LOOK_FIRST_MS,
  CLEANUP_LOOK_LONGEST_MS,
  DEFINITION_RETRY_MS,
  DELETION_FAULTS_TOLD_MAX,
  INSTANCES_DELETED_AT_ONCE,
} from '../limits.ts';
import { versionOf } from '../objects/stored-object.ts';
import type { DeleteObject } from '../verbs/delete.ts';
import { isBuiltIn } from './custom-kinds.ts';

export interface DefinitionController {
  /** A definition came, changed or went. */
  wake(name: string): void;
  start(): void;
  stop(): Promise<void>;
}

export interface DefinitionControllerDeps {
  readonly core: Core;
  readonly handle: ApiHandler;
  readonly user: User;
  /** Deletes an instance as a client does, with its finalizers and its grace. */
  readonly deleteObject: DeleteObject;
}

/**
 * Accepts the names of definitions, has their kinds served, and ends the instances of those that are deleted. Every apiserver
 * runs one; all of them decide the same from the same objects, and compare-and-swap lets one of them write it.
 */
export function createDefinitionController(deps: DefinitionControllerDeps): DefinitionController {
  return new Controller(deps);
}

class Controller implements DefinitionController {
  readonly #deps: DefinitionControllerDeps;
  readonly #due = new Set<string>();
  readonly #timers = new Map<string, Timer>();
  readonly #waits = new Map<string, number>();
  #running: Promise<void> | undefined;
  #state: 'new' | 'running' | 'stopped' = 'new';

  constructor(deps: DefinitionControllerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#state = 'running';
    for (const { name } of this.#all()) this.#due.add(name);
    this.#run();
  }

  wake(name: string): void {
    this.#due.add(name);
    if (this.#state === 'running') this.#run();
  }

  async stop(): Promise<void> {
    this.#state = 'stopped';
    for (const timer of this.#timers.values()) timer.cancel();
    await this.#running;
  }

  #all(): readonly CachedObject[] {
    const { group, plural } = CUSTOM_RESOURCE_DEFINITIONS;
    return this.#deps.core.cache.resource(group, plural).all(undefined);
  }

  /** Sequential: a name that was just accepted is taken. */
  #run(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
      if (this.#due.size > 0 && this.#state === 'running') this.#run();
    });
  }

  async #work(): Promise<void> {
    const { core } = this.#deps;
    // The cache reports a change while it stores it.
    await Promise.resolve();
    for (const name of this.#due) {
      this.#due.delete(name);
      if (this.#state !== 'running') return;
      try {
        await this.#look(name);
      } catch (error) {
        core.log.warn('a definition could not be reconciled', { definition: name, error: describeError(error) });
        this.#again(name, DEFINITION_RETRY_MS);
      }
    }
  }

  #again(name: string, afterMs: number): void {
    this.#timers.get(name)?.cancel();
    const fire = (): void => {
      this.#timers.delete(name);
      this.wake(name);
    };
    this.#timers.set(name, this.#deps.core.clock.timer(afterMs, fire));
  }

  async #look(name: string): Promise<void> {
    const { core } = this.#deps;
    const all = this.#all().map(({ object }) => object as CustomResourceDefinition);
    const crd = all.find(({ metadata }) => metadata.name === name);
    const rivals = all.filter((each) => each !== crd);
    if (crd === undefined) {
      this.#waits.delete(name);
      for (const each of rivals) if (isWaiting(each)) this.#due.add(each.metadata.name ?? '');
      return;
    }
    if (isTerminating(crd)) return this.#cleanUp(crd);
    const { group } = crd.spec;
    const others = rivals.filter(({ spec }) => spec.group === group);
    const builtIn = allResources().filter((each) => each.group === group);
    const taken = { others, builtIn: builtIn.map(({ plural }) => plural) };
    const status = decideDefinitionStatus(crd, taken, core.clock.now());
    if (status !== undefined) await this.#writeStatus(crd, status);
  }

  async #cleanUp(crd: CustomResourceDefinition): Promise<void> {
    const { core } = this.#deps;
    const name = crd.metadata.name ?? '';
    // The change that tells of the failure wakes at once; the next attempt waits for its time.
    if (hasFailedDeletion(crd) && this.#timers.has(name)) return;
    await catchUp(core);
    const { group, names } = crd.spec;
    // A client may have written the status of a definition that has the name of a kind of this build.
    const instances = isBuiltIn(group, names.plural) ? [] : core.cache.resource(group, names.plural).all(undefined);
    const step = decideCleanup(crd, instances.length);
    if (step.kind === 'nothing') return;
    if (step.kind === 'finish') {
      const done = await this.#writeStatus(crd, terminating(crd, step.reason, core.clock.now()));
      if (done !== undefined) await this.#removeFinalizer(name);
      this.#waits.delete(name);
      return;
    }
    const started = await this.#startDeletion(crd);
    if (started === undefined) return;
    const faults = await this.#deleteInstances(core.kinds.anyVersion(group, names.plural), instances);
    if (faults.length > 0) await this.#reportFaults(started, faults);
    const wait = this.#waits.get(name) ?? CLEANUP_LOOK_FIRST_MS;
    this.#waits.set(name, Math.min(wait * 2, CLEANUP_LOOK_LONGEST_MS));
    this.#again(name, wait);
  }

  /** Returns the definition that says so; `undefined` when another writer was faster: its event follows. */
  async #startDeletion(crd: CustomResourceDefinition): Promise<CustomResourceDefinition | undefined> {
    if (hasFailedDeletion(crd)) return crd;
    return this.#writeStatus(crd, terminating(crd, 'InstanceDeletionInProgress', this.#deps.core.clock.now()));
  }

  /** Returns why some could not be deleted. */
  async #deleteInstances(
    definition: ResourceDefinition | undefined,
    instances: readonly CachedObject[],
  ): Promise<readonly string[]> {
    if (definition === undefined) return [];
    const faults: string[] = [];
    for (let start = 0; start < instances.length; start += INSTANCES_DELETED_AT_ONCE) {
      const batch = instances.slice(start, start + INSTANCES_DELETED_AT_ONCE);
      // Each look parses every instance: requests go on between two batches, even when nothing is left to be deleted.
      await nextTurn();
      const due = batch.filter((each) => !isTerminating(each.mutableCopy()));
      const deletions = due.map((each) => this.#deleteInstance(definition, each));
      for (const result of await Promise.allSettled(deletions))
        if (result.status === 'rejected') faults.push(describeError(result.reason));
    }
    return faults;
  }

  /** As the version in which it is stored: the webhook that converts it may be gone already. */
  async #deleteInstance(definition: ResourceDefinition, instance: CachedObject): Promise<void> {
    const { core, deleteObject } = this.#deps;
    const { namespace, name, object } = instance;
    const stored = definition.custom?.sibling(versionOf(object)) ?? definition;
    const context = this.#contextOf(stored, { namespace, name });
    const deletion = { definition: stored, target: { namespace, name }, options: {}, dryRun: false };
    try {
      await deleteObject(core, context, { ...deletion, skipsAdmission: true });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) throw error;
    }
  }

  async #reportFaults(crd: CustomResourceDefinition, faults: readonly string[]): Promise<void> {
    const { core } = this.#deps;
    const different = [...new Set(faults)].slice(0, DELETION_FAULTS_TOLD_MAX);
    const status = failedDeletion(crd, different, core.clock.now());
    core.log.warn('instances of a definition could not be deleted', {
      definition: crd.metadata.name ?? '',
      instances: faults.length,
      errors: different,
    });
    await this.#writeStatus(crd, status);
  }

  #contextOf(
    { group, version, plural }: ResourceDefinition,
    { namespace, name }: { readonly namespace: string; readonly name: string },
  ): ResourceContext {
    const request = { method: 'DELETE', path: '', query: new URLSearchParams(), headers: {} } as const;
    const target = { namespace, name, subresource: '', rest: '' };
    return {
      request,
      info: { kind: 'resource', verb: 'delete', path: '', group, version, resource: plural, ...target },
      user: this.#deps.user,
      representation: negotiate(undefined),
      warn: () => {},
      audit: undefined,
    };
  }

  /** Returns the definition with this status; `undefined` when another writer was faster: its event follows. */
  async #writeStatus(
    crd: CustomResourceDefinition,
    status: CustomResourceDefinitionStatus,
  ): Promise<CustomResourceDefinition | undefined> {
    const { name = '', resourceVersion = '' } = crd.metadata;
    const patch = { metadata: { resourceVersion }, status };
    const isWritten = await this.#patch(`/${name}/status`, patch, 'application/merge-patch+json');
    return isWritten ? this.#deps.core.reader.cached(CUSTOM_RESOURCE_DEFINITIONS, { name }) : undefined;
  }

  async #removeFinalizer(name: string): Promise<void> {
    const { core } = this.#deps;
    const { group, plural } = CUSTOM_RESOURCE_DEFINITIONS;
    const crd = await core.reader.fresh(CUSTOM_RESOURCE_DEFINITIONS, { name });
    if (crd === undefined) return;
    const finalizers = (crd.metadata.finalizers ?? []).filter((each) => each !== CLEANUP_FINALIZER);
    const { resourceVersion } = crd.metadata;
    await this.#patch(`/${name}`, { metadata: { resourceVersion, finalizers } }, 'application/merge-patch+json');
    core.log.debug('a definition is gone', { group, plural, name });
  }

  /** False when another writer was faster. */
  async #patch(path: string, body: unknown, type: string): Promise<boolean> {
    const { group, version, plural } = CUSTOM_RESOURCE_DEFINITIONS;
    const answer = await this.#deps.handle({
      method: 'PATCH',
      path: `/apis/${group}/${version}/${plural}${path}`,
      query: new URLSearchParams(),
      headers: { 'content-type': type, 'user-agent': 'kube-apiserver' },
      body: JSON.stringify(body),
    });
    if (answer.status === 409 || answer.status === 404) return false;
    if (answer.status >= 300) throw new Error(messageOf(answer));
    // Accepted names count for the next definition.
    await catchUp(this.#deps.core);
    return true;
  }
}

const isWaiting = ({ status }: CustomResourceDefinition): boolean =>
  (status.conditions ?? []).some(({ type, status: is }) => type === 'NamesAccepted' && is === 'False');

function messageOf({ status, body }: ApiResponse): string {
  const value: unknown = body.kind === 'json' ? body.value() : undefined;
  const message: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'message') : undefined;
  return `the API answered ${status}: ${typeof message === 'string' ? message : ''}`;
}
