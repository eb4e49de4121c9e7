import { setTimeout as sleep } from 'node:timers/promises';
import { operate } from './framework.ts';
import { PLANTED } from './registry.ts';

/** Arguments: the name of the operator, and `planted` or `correct`. It gets its cluster by KUBECONFIG. */
const [name = '', form = ''] = process.argv.slice(2);
const operator = PLANTED.get(name);
if (operator === undefined) throw new Error(`there is no operator ${name}`);
await operate(operator.make(form === 'planted'), sleep);
