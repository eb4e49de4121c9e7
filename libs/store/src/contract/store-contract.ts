import { test } from 'node:test';
import { changeContract } from './change-contract.ts';
import { readContract } from './read-contract.ts';
import { sizeContract } from './size-contract.ts';
import type { CreateStore } from './support.ts';
import { writeContract } from './write-contract.ts';

export type { CreateStore, OpenStore } from './support.ts';

/** Registers the tests that every backend must pass. */
export function storeContract(name: string, createStore: CreateStore): void {
  const define = (title: string, body: () => Promise<void>): void => {
    void test(`${name}: ${title}`, body);
  };
  writeContract(define, createStore);
  readContract(define, createStore);
  changeContract(define, createStore);
  sizeContract(define, createStore);
}
