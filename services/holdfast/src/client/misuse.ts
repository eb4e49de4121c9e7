import { OperatorError } from '@holdfast/platform';

export function misuse(message: string, nextStep: string): OperatorError {
  return new OperatorError({ code: 'Misuse', message, nextStep, exitCode: 2 });
}

/** A typed word becomes one path segment and must not become several. */
export function plainName(name: string): string {
  if (name !== '' && name !== '.' && name !== '..' && !/[/%]/.test(name)) return name;
  if (name === '')
    throw misuse('the name of an object is missing', 'Give it as `<resource> <name>` or `<resource>/<name>`.');
  throw misuse(`"${name}" is not the name of an object`, 'Give it as `<resource> <name>` or `<resource>/<name>`.');
}
