import { OperatorError } from '@holdfast/platform';
import type { Terminal } from './command.ts';
import { PLAIN } from './terminal/paint.ts';

const IS_OFF = 'Make sure that the machine is off or can do no harm, then repeat the command with --confirm.';

/** Explains irreversible risks; requires `--confirm`. */
export function requireConfirmation(
  risks: readonly string[],
  nothingDone: string,
  { confirm, nextStep = IS_OFF }: { readonly confirm: boolean; readonly nextStep?: string },
  { tell, paintTold = PLAIN }: Terminal,
): void {
  for (const risk of risks) tell(`${paintTold.caution('Warning:')} ${risk}`);
  if (risks.length === 0 || confirm) return;
  throw new OperatorError({
    code: 'Unconfirmed',
    message: `${nothingDone}: this needs --confirm`,
    nextStep,
  });
}
