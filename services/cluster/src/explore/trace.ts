import type { ApiHandler, ApiResponse, WatchEvent } from '@holdfast/client';
import { type Asked, objectOf, readAsked, revisionOf, through, watchAnswer } from '../lens/index.ts';
import type { RequestFilter } from '../requests.ts';
import { Activity } from './activity.ts';
import { UID } from './end-state.ts';

/** A write of the operator. */
export interface TracedWrite {
  readonly kind: 'write';
  readonly verb: string;
  /** `pods`, `apps.example.com/status`. */
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  /** Which of the equal ones, from 1. */
  readonly nth: number;
  readonly step: number;
  /** Absent: it was not answered. */
  status: number | undefined;
}

/** A state that a watch of the operator delivered. */
export interface TracedEvent {
  readonly kind: 'event';
  readonly type: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly nth: number;
  readonly revision: number;
  readonly step: number;
}

/** What explore did. */
export interface TracedNote {
  readonly kind: 'note';
  readonly text: string;
}

export type Traced = TracedWrite | TracedEvent | TracedNote;

/** They renew all the time, and say nothing about the work. */
const CHATTER: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io', 'leases.coordination.k8s.io']);
const ENTRIES_MAX = 20_000;
const READS_IN_A_ROW_MAX = 50;

/** What one client asked for and what it saw, in order. */
export class Trace {
  readonly entries: Traced[] = [];
  /** What the client does and is told. */
  readonly activity = new Activity();
  requests = 0;
  /** The step of the workload, from 0. */
  step = 0;
  #readsInARow = 0;
  readonly #counts = new Map<string, number>();
  readonly #revisions = new Map<string, Set<number>>();
  readonly #isOperator: (asked: Asked) => boolean;

  constructor(isOperator: (asked: Asked) => boolean) {
    this.#isOperator = isOperator;
  }

  note(text: string): void {
    this.#add({ kind: 'note', text });
  }

  get writes(): readonly TracedWrite[] {
    return this.entries.filter((each) => each.kind === 'write');
  }

  get events(): readonly TracedEvent[] {
    return this.entries.filter((each) => each.kind === 'event');
  }

  readonly filter: RequestFilter = async (request, next) => {
    const asked = readAsked(request);
    if (asked === undefined || !this.#isOperator(asked)) return next(request);
    this.requests += 1;
    const resource = resourceOf(asked);
    if (CHATTER.has(resource)) return next(request);
    if (!asked.isWrite) this.#readOnly(`${asked.info.verb} ${resource}`);
    return asked.isWrite ? this.#write(asked, resource, next) : this.#read(asked, resource, next);
  };

  async #write(asked: Asked, resource: string, next: ApiHandler): Promise<ApiResponse> {
    const { info } = asked;
    const place = { verb: info.verb, resource, namespace: info.namespace, name: asked.name.replace(UID, '*') };
    const nth = this.#count(JSON.stringify(place));
    const entry: TracedWrite = { kind: 'write', ...place, nth, step: this.step, status: undefined };
    this.#add(entry);
    this.#act(`${info.verb} ${nameOf(entry)}`);
    const answer = await next(asked.request);
    entry.status = answer.status;
    this.#act();
    return answer;
  }

  async #read(asked: Asked, resource: string, next: ApiHandler): Promise<ApiResponse> {
    const answer = await next(asked.request);
    if (answer.body.kind !== 'watch') return answer;
    const frames = through(answer.body.frames, {
      frame: (frame, outlet) => {
        this.#see(resource, frame.value());
        outlet.push(frame);
      },
    });
    return watchAnswer(frames);
  }

  #see(resource: string, event: WatchEvent): void {
    if (event.type === 'BOOKMARK' || event.type === 'ERROR') return;
    const { namespace, name } = placeOf(event);
    this.#act(`seeing ${nameOf({ resource, namespace, name })}`);
    const key = `${namespace}/${name}`;
    const revision = revisionOf(event);
    const seen = this.#revisions.get(`${resource}/${key}`) ?? new Set();
    this.#revisions.set(`${resource}/${key}`, seen);
    if (seen.has(revision)) return;
    seen.add(revision);
    const { type } = event;
    this.#add({ kind: 'event', type, resource, namespace, name, nth: seen.size, revision, step: this.step });
  }

  #act(what?: string): void {
    this.activity.add(what);
    this.#readsInARow = 0;
  }

  /** A client that only reads, again and again, rests: nothing comes of it. */
  #readOnly(what: string): void {
    this.#readsInARow += 1;
    if (this.#readsInARow <= READS_IN_A_ROW_MAX) this.activity.add(what);
  }

  #count(key: string): number {
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count;
  }

  #add(entry: Traced): void {
    if (this.entries.length < ENTRIES_MAX) this.entries.push(entry);
  }
}

/** A generated name differs between runs, as does one with a uid: it is known by its beginning, as `web-*`. */
function placeOf(event: WatchEvent): { readonly namespace: string; readonly name: string } {
  const { namespace = '', name = '', generateName } = objectOf(event).metadata ?? {};
  return { namespace, name: generateName === undefined ? name.replace(UID, '*') : `${generateName}*` };
}

function resourceOf({ info: { resource, group, subresource } }: Asked): string {
  const plural = group === '' ? resource : `${resource}.${group}`;
  return subresource === '' ? plural : `${plural}/${subresource}`;
}

/** `pods default/a`. */
const nameOf = ({ resource, namespace, name }: Pick<TracedEvent, 'resource' | 'namespace' | 'name'>): string =>
  `${resource} ${namespace === '' ? '' : `${namespace}/`}${name}`;

export function lineOf(entry: Traced): string {
  if (entry.kind === 'note') return `--- ${entry.text}`;
  const place = nameOf(entry);
  if (entry.kind === 'event') return `saw   ${entry.type} ${place} (revision ${entry.revision})`;
  return `wrote ${entry.verb} ${place}: ${entry.status ?? 'no answer'}`;
}
