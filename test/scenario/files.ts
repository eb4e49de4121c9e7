import { readFileSync, writeFileSync } from 'node:fs';
import type { Scenario } from './model.ts';
import { parseScenario } from './parse.ts';
import { printScenario } from './print.ts';

export const readScenario = (file: string): Scenario => parseScenario(readFileSync(file, 'utf8'));

export function writeScenario(file: string, scenario: Scenario): void {
  writeFileSync(file, printScenario(scenario));
}
