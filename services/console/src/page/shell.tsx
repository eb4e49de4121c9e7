import { type Signal, signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import {
  type Api,
  type Credential,
  createApi,
  type Fetch,
  NO_OFFERS,
  patientFetch,
  readOffers,
  signIn,
  signOut,
} from '../state/api.ts';
import { type HistoryRange, readRange } from '../state/history.ts';
import { type Kind, readKinds } from '../state/kinds.ts';
import type { Machine } from '../state/machine.ts';
import { type ResourceName, type Route, readRoute } from '../state/routes.ts';
import { parse } from '../state/times.ts';

const GUARD = 'guard';
/** The key of the attempt to sign in that is under way. */
const ATTEMPT = 'attempt';
const CLOCK_TICK_MS = 5_000;

export type Presence = 'arriving' | 'outside' | 'inside';

/** What all pages share: who is here, where they are, and the way to the API. */
export class Shell {
  readonly machine: Machine;
  readonly api: Api;
  readonly presence: Signal<Presence> = signal('arriving');
  /** Why the last attempt to sign in failed. */
  readonly refusal = signal('');
  readonly route: Signal<Route>;
  readonly kinds: Signal<readonly Kind[]> = signal([]);
  readonly user = signal('');
  /** What this server has beside the API. */
  readonly offers = signal(NO_OFFERS);
  /** Steps in seconds, for ages. */
  readonly now: Signal<number>;
  /** Absent: the server keeps no history. */
  readonly range: Signal<HistoryRange | undefined> = signal(undefined);
  /** The moment that the pages show; empty: now. */
  readonly at = signal('');
  #guard: string;
  readonly #patientFetch: Fetch;

  constructor(machine: Machine) {
    this.machine = machine;
    this.#guard = machine.store.read(GUARD);
    this.#patientFetch = patientFetch(machine.fetch, machine.pause);
    this.now = signal(machine.now());
    this.route = signal(readRoute(machine.place.hash()));
    this.api = createApi({
      fetch: machine.fetch,
      pause: machine.pause,
      newId: machine.newId,
      guard: () => this.#guard || 'none',
      signedOut: () => this.#leave(),
    });
  }

  async begin(): Promise<void> {
    const { machine } = this;
    const code = /^#code=(.+)$/.exec(machine.place.hash())?.[1];
    // The code leaves the address at once: it is used up, and the address may be copied.
    if (code !== undefined) machine.place.replace('#/overview');
    machine.place.changed(() => {
      this.route.value = readRoute(machine.place.hash());
    });
    machine.every(CLOCK_TICK_MS, () => void this.tick());
    if (code !== undefined) await this.signIn({ code, attempt: this.#attempt() });
    else if (this.#guard === '') this.presence.value = 'outside';
    else await this.#enter();
  }

  async signIn(credential: Credential): Promise<void> {
    try {
      this.#guard = await signIn(this.#patientFetch, credential);
      this.machine.store.write(GUARD, this.#guard);
      this.machine.store.write(ATTEMPT, '');
      await this.#enter();
    } catch (error) {
      this.refusal.value = error instanceof Error ? error.message : String(error);
      this.presence.value = 'outside';
    }
  }

  /** Kept until it succeeds, so that a page that is loaded again makes the same attempt. */
  #attempt(): string {
    const attempt = this.machine.store.read(ATTEMPT) || this.machine.newId();
    this.machine.store.write(ATTEMPT, attempt);
    return attempt;
  }

  async signOut(): Promise<void> {
    await signOut(this.machine.fetch, this.#guard).catch(() => undefined);
    this.#leave();
  }

  /** For what is asked beside the API. */
  get guard(): string {
    return this.#guard;
  }

  kindOf(name: ResourceName): Kind | undefined {
    return this.kinds.value.find(({ group, plural }) => group === name.group && plural === name.plural);
  }

  /** The time of the cluster now. */
  time(): number {
    return this.offers.value.now ?? this.machine.now();
  }

  /** Reads the clock anew: that of this machine, or of the cluster when it has its own. */
  async tick(): Promise<void> {
    if (this.presence.value === 'inside' && this.offers.value.now !== undefined) {
      this.offers.value = await readOffers(this.machine.fetch, this.#guard).catch(() => this.offers.value);
    }
    this.now.value = this.time();
  }

  /** The time that the pages count ages from. */
  get shownTime(): number {
    return parse(this.at.value) ?? this.now.value;
  }

  /** What the history holds now. */
  async refreshRange(): Promise<void> {
    this.range.value = await readRange(this.api).catch(() => this.range.value);
  }

  async #enter(): Promise<void> {
    const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    try {
      const [who, kinds, offers] = await Promise.all([
        this.api.json<Review>(path, {
          method: 'POST',
          body: review,
          contentType: 'application/json',
        }),
        readKinds(this.api),
        readOffers(this.#patientFetch, this.#guard),
      ]);
      this.offers.value = offers;
      this.now.value = this.time();
      this.user.value = who.status?.userInfo?.username ?? '';
      this.kinds.value = kinds;
      await this.refreshRange();
      this.refusal.value = '';
      this.presence.value = 'inside';
    } catch (error) {
      if (this.presence.value !== 'outside')
        this.refusal.value = error instanceof Error ? error.message : String(error);
      this.presence.value = 'outside';
    }
  }

  #leave(): void {
    this.#guard = '';
    this.machine.store.write(GUARD, '');
    this.presence.value = 'outside';
  }
}

interface Review {
  readonly status?: { readonly userInfo?: { readonly username?: string } };
}

const ShellContext = createContext<Shell | undefined>(undefined);
export const ShellProvider = ShellContext.Provider;

export function useShell(): Shell {
  const shell = useContext(ShellContext);
  if (shell === undefined) throw new Error('a component outside of the application');
  return shell;
}
