#!/bin/sh  
echo run 
