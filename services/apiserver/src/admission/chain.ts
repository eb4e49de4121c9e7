import type { Remarks } from '../audit/notes.ts';
import type { Attributes } from './dynamic/attributes.ts';
import { beginSecondRound } from './dynamic/reinvocation.ts';
import type { AdmissionDeps, AdmissionPlugin, AdmissionRequest } from './port.ts';
import { ADMISSION_PLUGINS } from './registry.ts';

/** Returns nothing when every plugin decided synchronously, as most do for most requests. */
export interface AdmissionChain {
  readonly admit: (request: AdmissionRequest) => Promise<void> | undefined;
  readonly settle: (request: AdmissionRequest) => void;
  readonly validate: (request: AdmissionRequest) => Promise<void> | undefined;
  /** A request whose object is not stored: a connection, a binding, an eviction, a token. */
  readonly review: (attributes: Attributes, remarks: Remarks) => Promise<void> | undefined;
}

type Phase = 'admit' | 'validate';

export function createAdmissionChain(deps: AdmissionDeps): AdmissionChain {
  const plugins = ADMISSION_PLUGINS.map((create) => create(deps));
  const admitting = plugins.filter(({ admit }) => admit !== undefined);
  const settling = plugins.filter(({ settle }) => settle !== undefined);
  const reviewing = plugins.filter(({ review }) => review !== undefined);
  const validating = plugins.filter(({ validate }) => validate !== undefined);
  return {
    admit: (request) => {
      const first = run(admitting, 'admit', request);
      return first?.then(() => secondRound(admitting, request));
    },
    settle: (request) => {
      for (const plugin of settling) if (plugin.handles(request)) plugin.settle?.(request);
    },
    validate: (request) => run(validating, 'validate', request),
    review: (attributes, remarks) => reviewAll(reviewing, attributes, remarks),
  };
}

/** After a webhook has changed the object, every mutating plugin runs once more. */
async function secondRound(admitting: readonly AdmissionPlugin[], request: AdmissionRequest): Promise<void> {
  if (beginSecondRound(request)) await run(admitting, 'admit', request);
}

function reviewAll(
  plugins: readonly AdmissionPlugin[],
  attributes: Attributes,
  remarks: Remarks,
): Promise<void> | undefined {
  const works = plugins.flatMap((plugin) => plugin.review?.(attributes, remarks) ?? []);
  return works.length === 0 ? undefined : Promise.all(works).then(() => undefined);
}

function run(plugins: readonly AdmissionPlugin[], phase: Phase, request: AdmissionRequest): Promise<void> | undefined {
  for (let i = 0; i < plugins.length; i++) {
    const work = ask(plugins[i], phase, request);
    if (work !== undefined) return goOn(work, plugins.slice(i + 1), phase, request);
  }
  return undefined;
}

function ask(plugin: AdmissionPlugin | undefined, phase: Phase, request: AdmissionRequest): Promise<void> | undefined {
  if (plugin?.handles(request) !== true) return undefined;
  return plugin[phase]?.(request) ?? undefined;
}

async function goOn(
  work: Promise<void>,
  rest: readonly AdmissionPlugin[],
  ...[phase, request]: readonly [Phase, AdmissionRequest]
): Promise<void> {
  await work;
  await run(rest, phase, request);
}
