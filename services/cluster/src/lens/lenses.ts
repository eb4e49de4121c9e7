import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, createSeededRandom } from '@holdfast/platform';
import { badOption } from '../options.ts';
import type { RequestFilter } from '../requests.ts';
import { statusAnswer, watchAnswer } from './answers.ts';
import { type Asked, readAsked } from './asked.ts';
import { isOf, type LensClient, type UserOfToken } from './client-of.ts';
import type { Lensing, LensingDeps, LensKind } from './kind.ts';
import { type OpenWatch, OpenWatches } from './open-watches.ts';
import { LENS_KINDS, type LensKindName, type LensSettings } from './registry.ts';
import { Rule, type RuleSettings } from './rule.ts';
import { checkSettings, type Setting } from './settings.ts';

type OfKind = { readonly [K in LensKindName]: { readonly kind: K } & LensSettings[K] }[LensKindName];

/** What a lens shows, and to whom. */
export type LensOptions = OfKind &
  LensClient &
  RuleSettings & {
    /** Default: 1. */
    readonly seed?: number;
    /** False: `lens.on()` turns it on. Default: true. */
    readonly isOn?: boolean;
    /** Called at the moment of the fault, which waits for it: a place to pause or to kill the client. */
    readonly onHit?: (hit: LensHit) => void | Promise<void>;
  };

export interface LensHit {
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Lens extends Disposable {
  readonly kind: LensKindName;
  /** True: the client sees what a correct but slow server could have shown. False: a fault of the server or network. */
  readonly isView: boolean;
  readonly isOn: boolean;
  /** Requests that it changed. */
  readonly hits: number;
  /** Begins anew: counts and views. */
  on(): Promise<void>;
  /** What was held back is delivered. */
  off(): void;
  /** Off for good. */
  dispose(): void;
}

export interface LensesDeps {
  readonly userOf: UserOfToken;
  readonly clock: () => Clock;
  readonly revision: () => Promise<number>;
}

/** The lenses of one cluster, as a filter of the requests of its clients. */
export class Lenses {
  readonly #deps: LensesDeps;
  readonly #open = new Set<OpenLens>();
  readonly #watches = new OpenWatches();

  constructor(deps: LensesDeps) {
    this.#deps = deps;
  }

  async add(options: LensOptions): Promise<Lens> {
    checkOptions(options);
    const lens: OpenLens = new OpenLens(options, this.#deps, () => this.#open.delete(lens));
    this.#open.add(lens);
    await Promise.all(this.#watches.all().map((watch) => lens.takeHold(watch)));
    if (options.isOn ?? true) await lens.on();
    return lens;
  }

  /** The history of the store is another one from now on. */
  disposeAll(): void {
    for (const lens of this.#open) lens.dispose();
  }

  readonly filter: RequestFilter = async (request, next) =>
    this.#watches.add(request, await this.#throughLenses(request, next));

  async #throughLenses(request: ApiRequest, next: ApiHandler): Promise<ApiResponse> {
    if (this.#open.size === 0) return next(request);
    const wanted = [...this.#open].filter((lens) => lens.isAbout(request));
    if (wanted.length === 0) return next(request);
    const handle = wanted.reduceRight<ApiHandler>((inner, lens) => (each) => lens.handle(each, inner), next);
    try {
      return await handle(request);
    } catch (error) {
      if (error instanceof StatusError) return statusAnswer(error);
      throw error;
    }
  }
}

class OpenLens implements Lens {
  readonly kind: LensKindName;
  readonly isView: boolean;
  isOn = false;
  readonly #options: LensOptions;
  readonly #deps: LensesDeps;
  readonly #rule: Rule;
  readonly #lensing: Lensing;
  readonly #onDispose: () => void;

  constructor(options: LensOptions, deps: LensesDeps, onDispose: () => void) {
    const { kind, seed = 1 } = options;
    const random = createSeededRandom(seed, `lens ${kind}`);
    const form = LENS_KINDS[kind];
    this.kind = kind;
    this.isView = form.isView;
    this.#options = options;
    this.#deps = deps;
    this.#rule = new Rule(options, form.verbs, random);
    this.#onDispose = onDispose;
    const { clock, revision } = deps;
    this.#lensing = opened(form, options, { clock: clock(), random, revision, onHit: (asked) => this.#hit(asked) });
  }

  get hits(): number {
    return this.#rule.hits;
  }

  async on(): Promise<void> {
    this.off();
    this.#rule.restart();
    await this.#lensing.on?.();
    this.isOn = true;
  }

  off(): void {
    this.isOn = false;
    this.#lensing.off?.();
  }

  dispose(): void {
    this.off();
    this.#onDispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  isAbout(request: ApiRequest): boolean {
    return isOf(this.#options, request, this.#deps.userOf);
  }

  handle(request: ApiRequest, next: ApiHandler): Promise<ApiResponse> {
    const asked = readAsked(request);
    if (asked === undefined || !this.#rule.selects(asked)) return next(request);
    const lensing = this.#lensing;
    const isMeant = this.isOn && (lensing.applies?.(asked) ?? true) && this.#rule.takes();
    if (isMeant) return lensing.handle(asked, next);
    return lensing.pass?.(asked, next) ?? next(request);
  }

  /** The watch was opened before the lens. */
  async takeHold({ asked, tap }: OpenWatch): Promise<void> {
    const lensing = this.#lensing;
    if (lensing.pass === undefined || !this.isAbout(asked.request) || !this.#rule.selects(asked)) return;
    // Its frames cannot be replaced by others. The client begins it anew, and the lens reads it as JSON.
    if (OTHER_FORM.test(asked.request.headers['accept'] ?? '')) return tap.end();
    await tap.insert(async (frames) => lensing.pass?.(asked, async () => watchAnswer(frames)) ?? watchAnswer(frames));
  }

  async #hit({ info, name }: Asked): Promise<void> {
    const { verb, resource, namespace } = info;
    await this.#options.onHit?.({ verb, resource, namespace, name });
  }
}

/** Protobuf, tables, metadata alone. */
const OTHER_FORM = /protobuf|as=/;

/** The settings were checked by the table of this kind. */
const opened = <K extends LensKindName>(
  form: LensKind<LensSettings[K]>,
  options: LensOptions,
  deps: LensingDeps,
): Lensing => form.open(options as LensSettings[K], deps);

const SHARED_SETTINGS: Readonly<Record<keyof (LensClient & RuleSettings) | 'kind' | 'seed' | 'isOn', Setting>> = {
  kind: { type: 'string', enum: Object.keys(LENS_KINDS), description: 'What the client sees.' },
  user: { type: 'string', description: 'The user whose requests are changed.' },
  userAgent: { type: 'string', description: 'The beginning of the User-Agent of the client.' },
  seed: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1, description: 'Of random choices; default 1.' },
  isOn: { type: 'boolean', description: 'Default: true.' },
  verbs: {
    type: 'array',
    items: { type: 'string' },
    description: 'list, watch, create, ...; default: those of the kind.',
  },
  resources: {
    type: 'array',
    items: { type: 'string' },
    description: 'pods, apps.example.com, pods/status; default: all.',
  },
  namespace: { type: 'string', description: 'Default: all.' },
  name: { type: 'string', description: 'Of the object; a trailing * stands for any rest. Default: all.' },
  skip: { type: 'integer', minimum: 0, description: 'The first requests pass.' },
  times: { type: 'integer', minimum: 1, description: 'Requests after that pass again; default: no limit.' },
  probability: { type: 'number', minimum: 0, maximum: 1, description: 'Drawn from the seed; default 1.' },
};

/** All settings of all kinds, for the description of the control endpoint. */
export function lensSettings(): ReadonlyMap<string, Setting> {
  const known = new Map(Object.entries(SHARED_SETTINGS));
  for (const form of Object.values(LENS_KINDS)) {
    for (const [name, setting] of Object.entries<Setting>(form.settings))
      if (!known.has(name)) known.set(name, setting);
  }
  return known;
}

function checkOptions(given: LensOptions): void {
  const { onHit: _onHit, ...options } = given;
  if (!Object.hasOwn(LENS_KINDS, options.kind)) {
    throw badOption(`there is no lens ${JSON.stringify(options.kind)}`, `Use ${Object.keys(LENS_KINDS).join(', ')}.`);
  }
  const known = [...Object.entries(SHARED_SETTINGS), ...Object.entries<Setting>(LENS_KINDS[options.kind].settings)];
  checkSettings(options, new Map(known));
  if (options.user !== undefined || options.userAgent !== undefined) return;
  throw badOption('a lens needs a client', 'Name it with user or userAgent: everybody else sees the truth.');
}
