import { afterEach, expect, test, vi } from 'vitest';
import * as package_ from 'voice-calling';
import * as testing from 'voice-calling/testing';
import { testDoubles } from './doubles.js';

testDoubles({ afterEach, expect, test }, vi, package_, testing);
