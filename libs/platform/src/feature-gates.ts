import { OperatorError } from './errors.ts';

/**
 * Applies `--feature-gates=One=true,Other=false` to the defaults. Refuses a gate that the program does not have: the
 * operator relies on it.
 */
export function readFeatureGates<K extends string>(
  text: string | undefined,
  defaults: Readonly<Record<K, boolean>>,
): Record<K, boolean> {
  const gates: Record<K, boolean> = { ...defaults };
  for (const part of (text ?? '').split(',').filter((each) => each.trim() !== '')) {
    const [name = '', value = '', ...more] = part.split('=').map((each) => each.trim());
    if (!isGate(name, gates) || !['true', 'false'].includes(value) || more.length > 0) throw unknown(part, defaults);
    gates[name] = value === 'true';
  }
  return gates;
}

const isGate = <K extends string>(name: string, gates: Readonly<Record<K, boolean>>): name is K =>
  Object.hasOwn(gates, name);

function unknown(part: string, known: Readonly<Record<string, boolean>>): OperatorError {
  const names = Object.keys(known).map((name) => `${name}=true and ${name}=false`);
  return new OperatorError({
    code: 'BadSetting',
    message: `--feature-gates does not take "${part.trim()}"`,
    nextStep: `Known here: ${names.join(', ')}.`,
    exitCode: 2,
  });
}
