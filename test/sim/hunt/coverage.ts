import { PODS, type Pod } from '@holdfast/api';
import type { Log, LogFields } from '@holdfast/platform';
import { parseKey } from '@holdfast/store';
import type { Answered } from '../api-servers.ts';
import { type Commit, objectOf } from '../committed.ts';
import type { Step } from './plan.ts';

/** A number in a message is no other decision. */
const NUMBER = /\d+/g;
const MOST_CHARS = 80;
/** What a user does has consequences for a while. */
const SHORTEST_SECONDS = 5;

/**
 * What one run has reached: who wrote what, which answers were no, and what was logged, alone and under each fault and user that was at work
 * then. It watches, and changes nothing.
 */
export class Coverage {
  readonly #reached = new Set<string>();
  /** Kinds of steps that are at work, and until when. */
  readonly #untilMs = new Map<string, number>();
  #now = (): number => 0;

  /** The time of the run. */
  follow(now: () => number): void {
    this.#now = now;
  }

  began({ do: kind, target }: Step, seconds: number): void {
    const name = `${kind} ${roleOf(target)}`;
    const untilMs = this.#now() + Math.max(seconds, SHORTEST_SECONDS) * 1000;
    this.#untilMs.set(name, Math.max(untilMs, this.#untilMs.get(name) ?? 0));
  }

  committed(commit: Commit): void {
    const { kind, key } = commit.operation;
    const { resource } = parseKey(key);
    const phase = resource === PODS.plural ? phaseOf(objectOf(commit) as Pod) : '';
    this.#note(`${roleOf(commit.by ?? '')} ${kind} ${resource} ${phase}`);
  }

  answered({ by, method, path, status = 0 }: Answered): void {
    if (status >= 200 && status < 300) return;
    this.#note(`${roleOf(by)} ${method} ${kindIn(path)} ${status}`);
  }

  logOf(party: string): Log {
    const role = roleOf(party);
    const note = (message: string, fields?: LogFields): void => {
      const reason = typeof fields?.['reason'] === 'string' ? fields['reason'] : '';
      this.#note(`${role}: ${`${message} ${reason}`.slice(0, MOST_CHARS).replace(NUMBER, '#')}`);
    };
    const log: Log = { debug: note, info: note, warn: note, error: note, child: () => log };
    return log;
  }

  reached(): ReadonlySet<string> {
    return this.#reached;
  }

  #note(what: string): void {
    this.#reached.add(what);
    const now = this.#now();
    for (const [step, untilMs] of this.#untilMs) if (untilMs >= now) this.#reached.add(`${what} / ${step}`);
  }
}

/** The name of a process without its number: all nodes are alike. */
const roleOf = (party: string): string =>
  party
    .split(':')
    .filter((part) => !part.startsWith('node-'))
    .join(':')
    .replace(/^@?node-.*/, 'node')
    .replace(/-\d+$/, '');

function phaseOf({ metadata, spec, status }: Pod): string {
  const stage = metadata.deletionTimestamp === undefined ? 'stays' : 'ends';
  return `${spec.nodeName === undefined ? 'waits' : 'bound'} ${status.phase ?? ''} ${stage}`;
}

/** `/api/v1/namespaces/default/pods/db-0/eviction` is about `pods eviction`. */
function kindIn(path: string): string {
  const parts = (path.split('?')[0] ?? '').split('/').slice(path.startsWith('/apis/') ? 4 : 3);
  const [resource = '', , subresource = ''] = parts[0] === 'namespaces' && parts.length > 2 ? parts.slice(2) : parts;
  return `${resource} ${subresource}`;
}
