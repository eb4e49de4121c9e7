import { helper } from '../runtime/helpers.ts';
import { run } from './agent/run.ts';

const change = (verb: 'replace' | 'delete', address: string): Promise<string> =>
  run([helper('ip'), 'address', verb, `${address}/32`, 'dev', 'lo']);

/** Programs of this machine may listen at this address, and whoever routes by this machine reaches it. Root only. */
export async function addMachineAddress(address: string): Promise<void> {
  await change('replace', address);
}

/** Resolves as well when somebody has removed it. */
export async function removeMachineAddress(address: string): Promise<void> {
  await change('delete', address).catch(() => undefined);
}
