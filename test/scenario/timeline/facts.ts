import { APPS } from '../../sim/hunt/plan.ts';
import { FORM_FIELDS, formKeys, type Scenario } from '../model.ts';

/** What is played, in sentences for the head of a timeline. */
export function factsOf(scenario: Scenario): { readonly title: string; readonly facts: readonly string[] } {
  const { name, about, seed, form, workload, seconds, found } = scenario;
  const shape = formKeys().map((key) => `${FORM_FIELDS[key].name}: ${shown(form[key], FORM_FIELDS[key].isInverse)}`);
  const apps = APPS.map((app) => `${app}: ${workload.replicas[app]}`);
  return {
    title: name,
    facts: [
      ...(about === undefined ? [] : [about]),
      `Seed ${seed}, ${seconds} s. ${shape.join(', ')}.`,
      `Replicas: ${apps.join(', ')}${workload.hasDisks ? '; each pod of db has a disk' : ''}${workload.database === 0 ? '' : `; a database of ${workload.database}`}.`,
      ...(found?.planted === undefined ? [] : [`With the planted bug ${found.planted}.`]),
    ],
  };
}

const shown = (value: number | boolean, isInverse = false): string =>
  String(typeof value === 'boolean' ? value !== isInverse : value);
