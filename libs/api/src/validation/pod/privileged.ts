import { type FieldError, forbidden } from '@holdfast/machinery';
import type { PodSpec } from '../../generated/types.ts';
import { allContainers } from './windows.ts';

/** One error for each privileged container, for clusters that refuse them. `path`: that of the spec. */
export const privilegedErrors = (spec: Readonly<PodSpec>, path: string): readonly FieldError[] =>
  allContainers(spec, path)
    .filter(({ container }) => container.securityContext?.privileged === true)
    .map(({ path: at }) => forbidden(`${at}.securityContext.privileged`, 'disallowed by cluster policy'));
