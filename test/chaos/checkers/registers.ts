import { judgeOperations, type Model, type Operation } from './linearizable.ts';

/** What a client asks of an object. Each written value is unique, so that a value stands for a resourceVersion. */
export type RegisterInput =
  | { readonly kind: 'read' }
  | { readonly kind: 'create'; readonly to: string }
  | { readonly kind: 'swap'; readonly from: string; readonly to: string }
  | { readonly kind: 'remove'; readonly from: string };

export type RegisterOutput =
  /** `undefined`: there is no such object. */
  | { readonly kind: 'value'; readonly value: string | undefined }
  | { readonly kind: 'done' }
  /** 404, 409: it is there, not there, or another one. */
  | { readonly kind: 'refused' };

export type RegisterOperation = Operation<RegisterInput, RegisterOutput>;

type State = string | undefined;

/** An object of the API under compare-and-swap. */
export const REGISTER: Model<State, RegisterInput, RegisterOutput> = {
  initial: undefined,
  step: (state, input, output) => {
    if (input.kind === 'read') return output?.kind === 'value' && output.value !== state ? undefined : { state };
    const fits = input.kind === 'create' ? state === undefined : state === input.from;
    if (output !== undefined && fits !== (output.kind === 'done')) return undefined;
    return fits ? { state: input.kind === 'remove' ? undefined : input.to } : { state };
  },
  nameOf: (state) => state ?? 'absent',
  inWords: (input, output) => {
    const asked =
      input.kind === 'read' ? 'read' : input.kind === 'create' ? `create ${input.to}` : `${input.kind} ${input.from}`;
    const wanted = input.kind === 'swap' ? ` for ${input.to}` : '';
    const told = output === undefined ? 'unknown' : output.kind === 'value' ? (output.value ?? 'absent') : output.kind;
    return `${asked}${wanted} -> ${told}`;
  },
};

export interface RegisterVerdict {
  readonly broken: readonly string[];
  readonly operations: number;
  /** Registers whose history was too long to decide. */
  readonly undecided: readonly string[];
}

/** Objects are independent of each other: each has a history of its own. */
export function judgeRegisters(histories: ReadonlyMap<string, readonly RegisterOperation[]>): RegisterVerdict {
  const broken: string[] = [];
  const undecided: string[] = [];
  for (const [name, operations] of histories) {
    const judgement = judgeOperations(REGISTER, operations);
    if (judgement.kind === 'broken') broken.push(`the history of ${name} is not linearizable: ${judgement.story}`);
    if (judgement.kind === 'undecided') undecided.push(name);
  }
  const count = [...histories.values()].reduce((sum, { length }) => sum + length, 0);
  return { broken, operations: count, undecided };
}
