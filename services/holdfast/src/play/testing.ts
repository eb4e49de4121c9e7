import { createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { Gate, type Life } from './gate.ts';
import { Stage } from './stage.ts';

export function makeLife() {
  const kill = new AbortController();
  const gate = new Gate(createSeededRandom(1, 'gate'));
  const life: Life = { gate, over: kill.signal };
  return { kill, gate, life };
}

export function makeStage() {
  const clock = createVirtualClock(0);
  const told: string[] = [];
  const stage = new Stage({ clock, random: createSeededRandom(1, 'stage'), log: createSilentLog() });
  const cast = (name: string, kind: 'node' | 'master') =>
    stage.cast(name, kind, (_, isFirst) => ({
      name,
      start: async () => void told.push(`${name} starts${isFirst ? '' : ' again'}`),
      stop: async () => void told.push(`${name} stops`),
      abandon: async () => void told.push(`${name} is gone`),
    }));
  return { stage, clock, told, cast };
}
