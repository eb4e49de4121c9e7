import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import { type ExecResult, RuntimeError } from '../port.ts';
import { besideCommand } from './isolation.ts';
import { EXEC_DRAIN_MS, EXEC_OUTPUT_MAX_BYTES } from './limits.ts';
import { enterNetwork } from './sandbox-network.ts';
import { sendSignal } from './send-signal.ts';
import { carriedLaunch, isIsolated, type Launch, ownDirectory, plainLaunch, type SpawnContents } from './spawn.ts';

export interface BesideRequest extends SpawnContents {
  /** First process of the container. */
  readonly leader: number;
}

export interface ExecRequest extends BesideRequest {
  readonly timeoutMs: number;
}

/** Its processes carry the container's id: what it leaves behind ends with the container. */
export function execIn(clock: Clock, request: ExecRequest): Promise<ExecResult> {
  const { config } = request;
  if (config.command.length === 0) throw new RuntimeError('Unsupported', 'no command specified');
  const launch = besideLaunch(request, false);
  const [program = '', ...args] = launch.command;
  const child = spawn(program, args, {
    cwd: launch.cwd,
    env: launch.environment,
    ...(launch.tellsFailure ? {} : config.user),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = keepOutput(child);
  return new Promise((resolve, reject) => {
    const deadline = clock.timer(request.timeoutMs, () => {
      reject(new RuntimeError('Timeout', `command "${config.command[0]}" timed out`));
      if (child.pid !== undefined) sendSignal(-child.pid, 'SIGKILL');
      closeOutputs(child);
    });
    child.on('error', (error) => {
      deadline.cancel();
      reject(new RuntimeError('Internal', `exec: "${config.command[0]}": ${error.message}`));
    });
    child.once('exit', () => {
      deadline.cancel();
      // What it left behind holds its outputs open, and may write for ever.
      const drained = clock.timer(EXEC_DRAIN_MS, () => closeOutputs(child));
      child.once('close', () => drained.cancel());
    });
    // Its last words may arrive after its exit.
    child.once('close', (code) => resolve({ exitCode: code ?? 137, output: output() }));
  });
}

type OutputChild = ChildProcessByStdio<null, Readable, Readable>;

function keepOutput({ stdout, stderr }: OutputChild): () => string {
  const kept: Buffer[] = [];
  let size = 0;
  const keep = (chunk: Buffer): void => {
    const room = EXEC_OUTPUT_MAX_BYTES - size;
    if (room <= 0) return;
    kept.push(chunk.subarray(0, room));
    size += Math.min(room, chunk.length);
  };
  stdout.on('data', keep);
  stderr.on('data', keep);
  return () => Buffer.concat(kept).toString('utf8');
}

function closeOutputs({ stdout, stderr }: OutputChild): void {
  stdout.destroy();
  stderr.destroy();
}

/** The launch of a command beside a container. Without `tellFailure` launch errors are part of its output. */
export function besideLaunch(request: BesideRequest, tellFailure: boolean, tty = false): Launch {
  const { config, leader, sandbox, network } = request;
  if (!isIsolated(request)) return plainLaunch(request, config.command, tty, tellFailure);
  const directory = config.workingDir ?? ownDirectory(request);
  const beside = besideCommand(leader, { config, directory, userRange: sandbox.userRange }, tellFailure);
  const command = [...enterNetwork(network), ...beside];
  return carriedLaunch(request, { command, cwd: '/', tty });
}
