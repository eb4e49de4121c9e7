import { OperatorError } from '@holdfast/platform';
import type { OpenFailure } from './protocol.ts';

const ADVICE: Readonly<Record<OpenFailure['reason'], { readonly code: string; readonly nextStep: string }>> = {
  inUse: {
    code: 'STORE_IN_USE',
    nextStep: 'Stop the other instance, or give this one a data directory of its own.',
  },
  newerFormat: {
    code: 'STORE_FORMAT',
    nextStep: 'Start the version of Holdfast that wrote it, or a newer one.',
  },
  foreign: {
    code: 'STORE_FOREIGN',
    nextStep: 'Choose a directory that is empty or was written by Holdfast.',
  },
  halted: {
    code: 'STORE_HALTED',
    nextStep:
      'Restore the directory from the newest copy, or accept the data as they are with `holdfast store adopt --data-dir DIRECTORY`.',
  },
  damaged: {
    code: 'STORE_DAMAGED',
    nextStep: 'Restore the directory from a backup; keep the damaged files for analysis.',
  },
  unusable: {
    code: 'STORE_UNUSABLE',
    nextStep: 'Check that the directory exists on a working disk and that this user may write to it.',
  },
};

export function openError(directory: string, failure: OpenFailure, cause: unknown): OperatorError {
  const { code, nextStep } = ADVICE[failure.reason];
  const message = `The data directory ${directory} cannot be used: ${failure.message}`;
  return new OperatorError({ code, message, nextStep, cause });
}
