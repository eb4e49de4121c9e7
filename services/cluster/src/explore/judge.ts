import { differencesOf } from './end-state.ts';
import type { Expectation, RunResult } from './run.ts';

export interface Finding {
  readonly kind: 'leaked' | 'left over' | 'missing' | 'differs' | 'deleted' | 'never settles' | 'exits' | 'panic';
  /** One sentence. */
  readonly text: string;
  readonly lines: readonly string[];
}

/** Secrets and claims that stay cost money, or are a danger. */
const VALUABLE = /^core\/(secrets|persistentvolumeclaims|persistentvolumes)\//;
const PANIC =
  /\bpanic:|\bUnhandled\w*|\b(Type|Reference|Syntax|Range)Error\b|Traceback \(most recent|NullPointerException|segmentation fault/i;

/** What went wrong in a run, measured by the runs without a fault. Without findings the run is fine. */
export function judge(
  expectation: Expectation & { readonly reference: RunResult },
  result: RunResult,
): readonly Finding[] {
  const { reference } = expectation;
  const [wanted, found] = [expectation.states.at(-1), result.states.at(-1)];
  if (wanted === undefined || found === undefined) return [];
  const differences = differencesOf(wanted, found, expectation.masks.at(-1) ?? new Set()).map(
    ({ kind, label, lines }): Finding => {
      const isLeak = kind === 'left over' && VALUABLE.test(label);
      return {
        kind: isLeak ? 'leaked' : kind,
        text: `${label} ${kind === 'differs' ? 'differs' : `is ${isLeak ? 'leaked' : kind}`}`,
        lines,
      };
    },
  );
  return [...differences, ...deletions(reference, result), ...behaviour(reference, result)];
}

function deletions(reference: RunResult, result: RunResult): readonly Finding[] {
  return [...result.ledger.deletions].flatMap(([label, count]): readonly Finding[] => {
    const before = reference.ledger.deletions.get(label) ?? 0;
    // What the reference does not keep may be made and deleted once more.
    if (count <= before || !isKept(reference, label)) return [];
    return [{ kind: 'deleted', text: `${label} is deleted ${count} times in place of ${before}`, lines: [] }];
  });
}

const isKept = ({ states }: RunResult, label: string): boolean => (states.at(-1)?.get(label)?.length ?? 0) > 0;

function behaviour(reference: RunResult, result: RunResult): readonly Finding[] {
  const panic = result.output.split('\n').find((line) => PANIC.test(line));
  return [
    ...(result.hasSettled ? [] : [finding('never settles', 'the operator writes again and again')]),
    ...(result.crashes > reference.crashes + 1
      ? [
          finding(
            'exits',
            `the operator ended ${result.crashes} times by itself, the last time with ${result.lastExit}`,
          ),
        ]
      : []),
    ...(panic === undefined || PANIC.test(reference.output)
      ? []
      : [finding('panic', `the operator printed: ${panic.trim()}`)]),
  ];
}

const finding = (kind: Finding['kind'], text: string): Finding => ({ kind, text, lines: [] });
