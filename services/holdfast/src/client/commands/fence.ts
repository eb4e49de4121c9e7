import { defineCommand } from '../command.ts';
import { requireConfirmation } from '../confirmation.ts';
import { askFencer } from '../fence-wait.ts';
import { fenceProgress, requestFence, requestUnfence, unfenceProgress } from '../fencing.ts';
import { misuse, plainName } from '../misuse.ts';

const WAIT_SECONDS = 60;
const WAIT = {
  'wait-seconds': {
    kind: 'integer',
    help: 'Time for the fencer; the request stays afterwards',
    default: WAIT_SECONDS,
    min: 0,
    max: 86_400,
  },
  confirm: { kind: 'boolean', help: 'Proceed despite the warning' },
  json: { kind: 'boolean', help: 'Print one JSON document a line: node, done, text' },
} as const;

const REPEAT = 'Repeat the command with --confirm.';
const END_FIRST = 'End these processes first, for example by a restart of the machine, then repeat with --confirm.';

export const FENCE = defineCommand({
  usage: 'fence <node>',
  about:
    'Asks the fencer to cut a node off now, and waits until its agent has confirmed it. Needs a fencer (docs/fencing.md).',
  settings: { release: { kind: 'boolean', help: 'Also release its pods and volumes to other nodes' }, ...WAIT },
  act: async ({ settings, words }, session, terminal) => {
    const name = nodeOf(words, 'fence');
    const risk = `the agent of node "${name}" cuts the machine off or powers it off, with everything that runs there`;
    requireConfirmation([risk], 'the node is not fenced', { ...settings, nextStep: REPEAT }, terminal);
    const waitMs = settings['wait-seconds'] * 1000;
    const patch = requestFence(settings.release);
    await askFencer({ name, patch, progress: fenceProgress, waitMs, json: settings.json }, session, terminal);
  },
});

export const UNFENCE = defineCommand({
  usage: 'unfence <node>',
  about: 'Asks the fencer to lift the fence of a node, and waits until its agent has done so.',
  settings: WAIT,
  act: async ({ settings, words }, session, terminal) => {
    const name = nodeOf(words, 'unfence');
    const risk = `processes that still run on node "${name}" get their network and their storage back`;
    requireConfirmation([risk], 'the fence stays', { ...settings, nextStep: END_FIRST }, terminal);
    const waitMs = settings['wait-seconds'] * 1000;
    const patch = requestUnfence();
    await askFencer({ name, patch, progress: unfenceProgress, waitMs, json: settings.json }, session, terminal);
  },
});

function nodeOf(words: readonly string[], command: string): string {
  const [name, ...more] = words;
  if (name === undefined || more.length > 0) throw misuse('one node has to be named', `Use \`${command} <node>\`.`);
  return plainName(name);
}
