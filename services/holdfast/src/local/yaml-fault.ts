import { describeError } from '@holdfast/platform';

/** What is wrong with a text, in one line: the parser of YAML shows the place on further lines. */
export const yamlFault = (error: unknown): string => (describeError(error).split('\n')[0] ?? '').replace(/:$/, '');
