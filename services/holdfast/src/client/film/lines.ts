import {
  afterText,
  causeText,
  type Film,
  headline,
  laneName,
  lastedText,
  leftText,
  stepsInOrder,
} from '@holdfast/client/film';
import { harmless } from '@holdfast/platform/harmless';
import { inLines } from '../table.ts';

const HEAD = ['AFTER', 'LASTED', 'WHO', 'WHAT', 'BECAUSE'] as const;

/** A film as a table of steps and sentences, for a terminal. */
export function filmLines(film: Film): readonly string[] {
  const told = stepsInOrder(film);
  const rows = told.map(({ lane, step }) =>
    [afterText(film, step.fromMs), lastedText(step), laneName(lane), step.name, causeText(told, step)].map(harmless),
  );
  return [harmless(headline(film)), ...inLines([HEAD, ...rows]), ...leftText(film), ...film.waits.map(harmless)];
}
