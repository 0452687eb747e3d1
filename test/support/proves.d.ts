import { type TestAPI, type TestFunction, type TestOptions } from 'vitest';
import { type RequirementId } from '../requirements.js';
/**
 * A test that proves rows of test/requirements.ts: `proves('label.never-removed', async () => { … })`.
 * Several ids go in an array; a name after the ids replaces the rows' own sentences.
 */
export declare const proves: Proves<object>;
/** The same for a test with fixtures: `const proves = provesWith(test.extend({ runtime }))`. */
export declare function provesWith<Fixtures extends object>(run: TestAPI<Fixtures>): Proves<Fixtures>;
export type Proves<Fixtures> = (ids: Citation, ...rest: Unnamed<Fixtures> | Named<Fixtures>) => void;
export type Citation = RequirementId | readonly RequirementId[];
type Unnamed<Fixtures> = [fn: TestFunction<Fixtures>, options?: number | TestOptions];
type Named<Fixtures> = [name: string, fn: TestFunction<Fixtures>, options?: number | TestOptions];
export {};
