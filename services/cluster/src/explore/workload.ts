import { OperatorError } from '@holdfast/platform';

/** An object of a workload: apiVersion, kind and metadata, and what else it has. */
export interface WorkloadObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface WorkloadStep {
  readonly verb: 'apply' | 'delete';
  readonly object: WorkloadObject;
  /** A part of a present object, such as `status`, in place of the whole. */
  readonly subresource?: string;
  /** False: the next step follows at once. */
  readonly waits: boolean;
}

/** What users do to the cluster while the operator runs. */
export interface Workload {
  /** Applied before the operator starts. */
  readonly setup: readonly WorkloadObject[];
  readonly steps: readonly WorkloadStep[];
}

const STEPS_MAX = 100;

/** Reads the content of a workload file. Throws an `OperatorError` that names the wrong part. */
export function readWorkload(content: unknown): Workload {
  const { setup = [], steps, ...others } = asTable(content, 'the workload');
  refuseOthers(others, 'the workload', 'setup, steps');
  const known = asList(steps, 'steps');
  if (known.length === 0 || known.length > STEPS_MAX) {
    throw badWorkload(`the workload has ${known.length} steps`, `Give it 1 to ${STEPS_MAX}.`);
  }
  return {
    setup: asList(setup, 'setup').map((each, i) => asObject(each, `setup[${i}]`)),
    steps: known.map((each, i) => readStep(each, `steps[${i}]`)),
  };
}

function readStep(content: unknown, at: string): WorkloadStep {
  const { apply, delete: deleted, subresource, wait = true, ...others } = asTable(content, at);
  refuseOthers(others, at, 'apply, delete, subresource, wait');
  if ((apply === undefined) === (deleted === undefined)) {
    throw badWorkload(`${at} needs either apply or delete`, 'Give it one object.');
  }
  const verb = apply === undefined ? 'delete' : 'apply';
  const step = { verb, object: asObject(apply ?? deleted, `${at}.${verb}`), waits: wait !== false } as const;
  if (subresource === undefined) return step;
  if (verb === 'delete' || typeof subresource !== 'string' || !/^[a-z]+$/.test(subresource)) {
    throw badWorkload(`${at}.subresource does not fit`, 'Give its name beside apply, as in `subresource: status`.');
  }
  return { ...step, subresource };
}

function asObject(content: unknown, at: string): WorkloadObject {
  const object = asTable(content, at);
  const { name, namespace } = asTable(object['metadata'], `${at}.metadata`);
  const texts = [object['apiVersion'], object['kind'], name, namespace ?? ''];
  if (texts.some((text) => typeof text !== 'string') || texts.slice(0, 3).includes('')) {
    throw badWorkload(`${at} is not an object`, 'Give it apiVersion, kind and metadata.name.');
  }
  return object as unknown as WorkloadObject;
}

function asTable(content: unknown, at: string): Record<string, unknown> {
  if (typeof content === 'object' && content !== null && !Array.isArray(content)) return { ...content };
  throw badWorkload(`${at} has to be a table`, 'See "Explore" in docs/testing-operators.md.');
}

function asList(content: unknown, at: string): readonly unknown[] {
  if (Array.isArray(content)) return content;
  throw badWorkload(`${at} has to be a list`, 'See "Explore" in docs/testing-operators.md.');
}

function refuseOthers(others: object, at: string, known: string): void {
  const [first] = Object.keys(others);
  if (first !== undefined) throw badWorkload(`${at} has no field "${first}"`, `Use ${known}.`);
}

export const badWorkload = (message: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'Workload', message, nextStep, exitCode: 2 });
