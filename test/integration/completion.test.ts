import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { bashCompletion } from '../../services/holdfast/src/client/completion/bash.ts';
import { fishCompletion } from '../../services/holdfast/src/client/completion/fish.ts';
import { completedCommands } from '../../services/holdfast/src/client/completion/model.ts';
import { zshCompletion } from '../../services/holdfast/src/client/completion/zsh.ts';
import { COMMANDS } from '../../services/holdfast/src/client/registry.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-completion-'));
const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
const DEADLINE_MS = 60_000;
type Shell = keyof typeof SCRIPTS;

const fileOf = (shell: Shell): string => path.join(folder, `holdfast.${shell}`);
const run = (shell: Shell, args: readonly string[]): string =>
  execFileSync(shell, args, {
    env: { HOME: folder, XDG_STATE_HOME: folder, TERM: 'dumb', PATH: '/usr/local/bin:/usr/bin:/bin' },
    encoding: 'utf8',
    timeout: DEADLINE_MS,
  });

before(async () => {
  const commands = await completedCommands();
  for (const shell of ['bash', 'zsh', 'fish'] as const) writeFileSync(fileOf(shell), SCRIPTS[shell](commands));
  mkdirSync(path.join(folder, 'holdfast', 'my-cluster'), { recursive: true });
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** What bash offers for a line, split into words as bash does it. */
function offeredByBash(...words: readonly string[]): readonly string[] {
  const program = `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run('bash', ['-c', program, fileOf('bash'), 'holdfast', ...words])
    .trim()
    .split('\n');
}

test('bash completes commands, flags, their values, words of commands and names of clusters', () => {
  assert.deepEqual(offeredByBash(''), ['help', 'start', ...Object.keys(COMMANDS)]);
  assert.deepEqual(offeredByBash('compl'), ['completion']);
  assert.deepEqual(offeredByBash('completion', ''), ['bash', 'zsh', 'fish']);
  assert.deepEqual(offeredByBash('up', '--hollow'), ['--hollow-nodes']);
  assert.deepEqual(offeredByBash('up', '-d', '--runtime', 'd'), ['docker']);
  assert.deepEqual(offeredByBash('up', '--runtime', '=', 'c'), ['cri']);
  assert.deepEqual(offeredByBash('down', '--name', ''), ['my-cluster']);
  assert.deepEqual(offeredByBash('down', '--name', '='), ['my-cluster']);
  assert.deepEqual(offeredByBash('run', '--', '-'), [''], 'after -- there are words of another program');
  assert.deepEqual(offeredByBash('why', '--kubeconfig', ''), [''], 'bash itself completes files');
});

test('bash offers every flag of every command', async () => {
  for (const { name, flags } of await completedCommands()) {
    const offered = new Set(offeredByBash(name, '-'));
    for (const flag of flags) assert.ok(offered.has(`--${flag.name}`), `${name} --${flag.name}`);
  }
});

test('fish completes commands, flags and values', () => {
  const offer = (line: string): readonly string[] =>
    run('fish', ['--no-config', '-c', `source ${fileOf('fish')}; complete -C ${JSON.stringify(line)}`])
      .trim()
      .split('\n')
      .map((each) => each.split('\t')[0] ?? '');
  assert.deepEqual(offer('holdfast compl'), ['completion']);
  assert.deepEqual(offer('holdfast completion '), ['bash', 'fish', 'zsh']);
  assert.deepEqual(offer('holdfast up --hollow'), ['--hollow-nodes']);
  assert.deepEqual(offer('holdfast up --runtime d'), ['docker']);
  assert.deepEqual(offer('holdfast down --name '), ['my-cluster']);
});

/** Types into an interactive zsh, and waits for what appears. */
const TYPING = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1='READY>'; autoload -Uz compinit; compinit -D -u; source $1; echo SET''UP"
zpty -r z seen '*SETUP*READY>'
zpty -w -n z $'holdfast up --hollow\\t'
zpty -r z seen '*--hollow-nodes*'
zpty -w -n z $'\\C-uholdfast up --runtime do\\t'
zpty -r z seen '*docker*'
zpty -w -n z $'\\C-uholdfast down --name my\\t'
zpty -r z seen '*my-cluster*'
zpty -w -n z $'\\C-uholdfast compl\\t'
zpty -r z seen '*completion*'
zpty -d z
print done
`;

test('zsh completes commands, flags and values', () => {
  const file = path.join(folder, 'typing.zsh');
  writeFileSync(file, TYPING);
  assert.equal(run('zsh', ['-f', file, fileOf('zsh')]), 'done\n');
});
